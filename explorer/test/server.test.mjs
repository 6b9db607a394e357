import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { annaToken, Browser, logIn, picture, Server } from "./harness.mjs";

let server, browser, page;
const hostile = encodeURIComponent('"><img src=x onerror=alert(1)>');
const maps = "/api/v1/namespaces/default/configmaps";
before(async () => {
  [server, browser] = await Promise.all([Server.start(["--slow-request-threshold=1s", "--max-requests-inflight=1", "--max-mutating-requests-inflight=1"]), Browser.start()]);
  page = await browser.page({ viewport: { width: 1280, height: 1500 } });
  await logIn(page, server, "#/server");
});
after(async () => { await browser?.stop(); await server?.remove(); });

const part = (name) => page.getByRole("region", { name, exact: true }).first();
// newest is the newest value of a line of a plot.
const newest = (plot, line) => part(plot).getByRole("row", { name: line }).getByRole("cell");

test("plots show what the metrics say, with a table for those who do not see them", async () => {
  let busy = true;
  const load = (async () => { while (busy) await Promise.all(Array.from({ length: 5 }, () => server.call("GET", maps))); })();
  await newest("Requests by verb", "LIST").filter({ hasText: /^\d.*\/s$/ }).waitFor();
  await newest("Requests by resource", "configmaps").filter({ hasText: /^[1-9].*\/s$/ }).waitFor();
  await newest("Time of answers", "reads, p99").filter({ hasText: /(µs|ms|s)$/ }).waitFor();
  await newest("Watches by resource", "namespaces").or(newest("Watches by resource", "configmaps")).first().waitFor({ state: "attached", timeout: 1 }).catch(() => undefined);
  await newest("Size of the store", "files").filter({ hasText: /iB$/ }).waitFor();
  await newest("Revisions that can be read", "kept").filter({ hasText: /^\d/ }).waitFor();
  busy = false;
  await load;
  assert.ok(await page.locator(".plot canvas").count() >= 8);
  await page.getByText("Store writes").locator("..").getByText("yes").waitFor();
  if (process.env.SCREENSHOTS) await page.waitForTimeout(20_000); // some points more
  await picture(page, "server");
  await part("Requests by verb").locator(".u-over").hover();
  await part("Requests by verb").getByRole("columnheader", { name: /\d\d:\d\d/ }).waitFor();
  await page.mouse.move(5, 5);
});

test("slow requests are listed with what they were about, as texts", async () => {
  await server.call("GET", `/api/v1/namespaces/${hostile}/configmaps?resourceVersion=99999999&token=secret-value`).catch(() => undefined);
  const row = part("Slow requests").getByRole("row", { name: /onerror/ });
  await row.getByRole("cell", { name: "configmaps", exact: true }).waitFor();
  assert.match(await row.innerText(), /504/);
  assert.match(await row.innerText(), /\?resourceVersion/);
  assert.ok(!(await part("Slow requests").innerText()).includes("secret-value"));
  assert.equal(await page.locator(".content img").count(), 0);
});

test("who waits is named, by level and flow", async () => {
  await server.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata: { name: "lister" }, rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["list"] }] });
  await server.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", { metadata: { name: "lister" }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "lister" }, subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "anna" }] });
  const row = part("Who waits").getByRole("row", { name: /anna/ });
  let asking = true;
  const asks = Array.from({ length: 4 }, async () => { while (asking) await server.call("GET", "/api/v1/nodes?resourceVersion=99999999", undefined, { token: annaToken }).catch(() => undefined); });
  await row.waitFor({ timeout: 30_000 });
  assert.match(await row.innerText(), /list \/api\/v1\/nodes/);
  asking = false;
  await Promise.all(asks);
});

test("webhooks and their failures are listed, and certificates with their ends", async () => {
  await server.create("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", { metadata: { name: "w" }, webhooks: [{ name: "broken.example.com", admissionReviewVersions: ["v1"], sideEffects: "None", failurePolicy: "Ignore", timeoutSeconds: 1,
    clientConfig: { url: "https://127.0.0.1:1/" }, rules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations: ["CREATE"] }] }] });
  const made = async () => { for (let i = 0; ; i++) { await server.create(maps, { metadata: { generateName: "w-" } }); if (await part("Webhooks").getByText("broken.example.com").count()) return; if (i > 100) throw new Error("the webhook is not shown"); await page.waitForTimeout(300); } };
  await made();
  const row = part("Webhooks").getByRole("row", { name: /broken\.example\.com/ });
  assert.match(await row.locator(".warn-text").innerText(), /[1-9]/);
  await server.call("DELETE", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/w");
  const serving = part("Certificates").getByRole("row", { name: /^serving / });
  assert.ok(Number(await serving.getByRole("cell").nth(2).innerText()) > 100);
});

test("the page asks one thing at a time, rests while it is hidden or paused, and stops when it is left", async () => {
  let under = 0;
  let most = 0;
  let asked = 0;
  const own = (r) => /\/(metrics|debug\/)/.test(r.url());
  page.on("request", (r) => { if (own(r)) { asked++; most = Math.max(most, ++under); } });
  const done = (r) => { if (own(r)) under--; };
  page.on("requestfinished", done);
  page.on("requestfailed", done);
  await page.waitForRequest(own);
  await page.waitForTimeout(6000);
  assert.equal(most, 1);
  const quiet = async (act) => {
    await act();
    await page.waitForTimeout(1000); // the round that is under way
    asked = 0;
    await page.waitForTimeout(6500);
    assert.equal(asked, 0);
  };
  await quiet(() => page.evaluate(() => { Object.defineProperty(document, "hidden", { value: true, configurable: true }); }));
  await page.evaluate(() => { delete document.hidden; });
  await page.waitForRequest(own);
  await page.keyboard.press("p");
  await page.getByRole("button", { name: "Paused" }).waitFor();
  await quiet(() => undefined);
  await page.keyboard.press("p");
  await page.waitForRequest(own);
  await page.keyboard.press("1");
  await page.getByRole("grid").waitFor();
  await quiet(() => undefined);
  await page.keyboard.press("3");
  await page.waitForRequest(own);
});

test("a server that restarts is asked again", async () => {
  await server.stop();
  await page.getByRole("alert").filter({ hasText: "cannot be reached" }).first().waitFor({ timeout: 20_000 });
  await server.run(new URL(server.address).port);
  await page.getByRole("alert").first().waitFor({ state: "detached", timeout: 20_000 });
  assert.deepEqual(page.wrong, []);
});

test("an endpoint that is refused says which right is missing; the others are shown", async () => {
  await server.create("/apis/rbac.authorization.k8s.io/v1/clusterroles", { metadata: { name: "slow" }, rules: [{ nonResourceURLs: ["/debug/slow_requests"], verbs: ["get"] }] });
  await server.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", { metadata: { name: "slow" }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "slow" }, subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "anna" }] });
  const other = await browser.page();
  await logIn(other, server, "#/server", annaToken);
  await other.getByRole("alert").filter({ hasText: "verb “get” for the path “/metrics”" }).waitFor();
  await other.getByRole("alert").filter({ hasText: "/debug/api_priority_and_fairness/dump_priority_levels" }).waitFor();
  await other.getByText("The last that took 1 s or more").waitFor();
  assert.deepEqual(other.wrong, []);
});
