// Tests of the page's own code, without a browser.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createServer } from "vite";

let vite;
const load = (name) => vite.ssrLoadModule(`/src/${name}.ts`);
before(async () => { vite = await createServer({ root: new URL("..", import.meta.url).pathname, server: { middlewareMode: true, ws: false, hmr: false, watch: null }, appType: "custom", logLevel: "error", optimizeDeps: { noDiscovery: true } }); });
after(() => vite?.close());

test("metrics are parsed, and strange lines of them do no harm", async () => {
  const { Sample, quantile, sumBy } = await load("server/metrics");
  const sample = (at, text) => {
    const s = new Sample(at, new Set(["a_total", "h_bucket"]));
    for (const line of text.split("\n")) s.add(line);
    return s;
  };
  const first = sample(0, `# HELP a_total Some.\n# TYPE a_total counter\na_total{verb="GET",__proto__="x",q="a\\"b\\\\c\\n}"} 5 1700000000\na_total 2e3\nother{verb="GET"} 1
a_total{broken} 1\na_total{x="1"} NaN\na_total{x="2"}\n\n}{\na_total{x="3"} +Inf`);
  const labelled = first.of("a_total").find((m) => m.labels.verb === "GET");
  assert.deepEqual({ ...labelled.labels }, Object.fromEntries([["verb", "GET"], ["__proto__", "x"], ["q", 'a"b\\c\n}']]));
  assert.equal(labelled.value, 5);
  assert.equal({}.x, undefined);
  assert.deepEqual(first.of("a_total").map((m) => m.value), [5, 2000, Infinity]);
  assert.equal(first.of("other").length, 0);
  const grown = sample(1000, 'a_total{verb="GET",__proto__="x",q="a\\"b\\\\c\\n}"} 9\na_total 3').since(first, "a_total");
  assert.deepEqual(grown.map((m) => m.value), [4, 3], "a counter that is smaller than before has begun anew");
  assert.deepEqual([...sumBy(grown, "verb")], [["GET", 4], ["", 3]]);
  const buckets = sample(0, 'h_bucket{le="0.1"} 50\nh_bucket{le="1"} 100\nh_bucket{le="+Inf"} 100').of("h_bucket");
  assert.equal(quantile(0.5, buckets), 0.1);
  assert.ok(Math.abs(quantile(0.75, buckets) - 0.55) < 1e-9);
  assert.equal(quantile(0.99, sample(0, 'h_bucket{le="2"} 1\nh_bucket{le="+Inf"} 100').of("h_bucket")), 2, "above the last bound");
  assert.equal(quantile(0.5, []), undefined);
  assert.equal(quantile(0.5, sample(0, 'h_bucket{le="+Inf"} 0').of("h_bucket")), undefined);
});

test("a text of metrics without end is cut", async () => {
  const { Sample } = await load("server/metrics");
  const s = new Sample(0, new Set(["a"]));
  const line = `a{x="${"y".repeat(1_000_000)}"} 1`;
  let lines = 0;
  while (s.add(line)) assert.ok(++lines < 100);
  assert.equal(s.cut, true);
});

test("a dump of queues is read by its columns, whatever the names of users are", async () => {
  const { parseDump, queuedOf } = await load("server/queues");
  const head = "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime,                     UserName, Verb\n";
  const row = (flow, time) => `low,               all,            1,          0,                   ${(flow + ",").padEnd(17)}${(time + ",").padEnd(32)} ${"x,".padEnd(10)}list\n`;
  const dump = parseDump(head + row("a, <b>, c", "2026-01-01T00:00:02Z") + row("a, <b>, c", "2026-01-01T00:00:01Z") + row("eve", "2026-01-01T00:00:03Z"));
  assert.deepEqual(dump.map((r) => r.FlowDistingsher), ["a, <b>, c", "a, <b>, c", "eve"]);
  assert.deepEqual(queuedOf(dump).map((q) => [q.level, q.flow, q.requests, new Date(q.oldest).toISOString()]), [["low", "a, <b>, c", 2, "2026-01-01T00:00:01.000Z"], ["low", "eve", 1, "2026-01-01T00:00:03.000Z"]]);
  assert.deepEqual(parseDump(""), []);
});

test("a plot keeps the largest lines, adds up the others, and is bounded", async () => {
  const { History } = await load("server/history");
  const h = new History();
  for (let i = 0; i < 500; i++) h.add(i * 1000, new Map(Array.from({ length: 100 }, (_, n) => [`line-${n}`, n])));
  h.gap(500_500);
  h.add(600_000, new Map([["line-99", 1]]));
  const { times, names, values } = h.lines(true);
  assert.ok(times.length <= 181);
  assert.equal(names.length, 8);
  assert.equal(names[0], "line-99");
  assert.equal(names[7], "others (43)");
  assert.deepEqual(values[0].slice(-2), [null, 1]);
  assert.deepEqual(values[1].slice(-2), [null, 0]);
  assert.deepEqual(h.lines(false).values[1].slice(-2), [null, null]);
});
