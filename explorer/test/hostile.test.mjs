import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { Browser, editorText, logIn, picture, Server } from "./harness.mjs";

const axe = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const script = `"><script>alert(1)</script><img src=x onerror=alert(2)>`;
const maps = "/api/v1/namespaces/default/configmaps";

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), Browser.start()]);
  await server.create(maps, { metadata: { name: "hostile", annotations: { note: script, "style.example.com/x": "</style><svg onload=alert(3)>" } },
    data: { "__proto__": "x", constructor: "y", html: script, yaml: "&a [*a, !!js/function 'alert(4)']\n%YAML 9\n--- \u202e rtl \u0000?".replace("\u0000", ""), link: "javascript:alert(5)" } });
  await server.create("/api/v1/namespaces/default/events", { metadata: { name: "e" }, involvedObject: { kind: "ConfigMap", name: "hostile", namespace: "default", uid: (await server.call("GET", `${maps}/hostile`)).metadata.uid },
    reason: script, message: script, type: "Warning", lastTimestamp: "2026-01-01T00:00:00Z" });
});
after(async () => { await browser?.stop(); await server?.remove(); });

test("hostile texts are shown as texts", async () => {
  const page = await browser.page();
  await logIn(page, server, "#/objects/core/v1/configmaps/default/hostile");
  await page.getByLabel("YAML of hostile").waitFor();
  assert.match(await editorText(page, "YAML of hostile"), /<script>alert\(1\)<\/script>/);
  for (const tab of ["events", "history", "graph", "edit", "%3Cimg%20src=x%20onerror=alert(6)%3E"]) {
    await page.goto(`${server.address}/explorer/#/objects/core/v1/configmaps/default/hostile?tab=${tab}`);
    await page.getByRole("heading", { name: "hostile" }).waitFor();
    await page.waitForTimeout(300);
  }
  await page.goto(`${server.address}/explorer/#/objects/core/v1/events?ns=default`);
  await page.getByRole("grid").getByText("alert(1)").first().waitFor();
  await page.getByLabel("Search in the table").fill(script);
  for (const place of ["#/objects/%3Cscript%3E/v1/x", "#/objects/core/v1/configmaps/%2e%2e/%2e%2e%2fsecrets", "#/objects/core/v1/pods?ns=<img src=x onerror=alert(7)>&labels=%00%ff", "#link=a.b.c", "#/%E0%A4%A"]) {
    await page.goto(`${server.address}/explorer/${place}`);
    await page.waitForTimeout(300);
  }
  assert.equal(await page.locator("img, iframe, svg[onload], script:not([src])").count(), 0);
  assert.deepEqual(page.wrong, []);
});

test("the page asks no other host, sets no cookie, and cannot be framed", async () => {
  const page = await browser.page();
  const hosts = new Set();
  page.on("request", (r) => hosts.add(new URL(r.url()).host));
  await logIn(page, server, "#/objects/core/v1/configmaps/default/hostile?tab=edit");
  await page.getByLabel("Edit hostile").waitFor();
  hosts.delete("");
  assert.deepEqual([...hosts], [new URL(server.address).host]);
  assert.deepEqual(await page.context().cookies(), []);
  const answer = await page.request.get(`${server.address}/explorer/`);
  assert.match(answer.headers()["content-security-policy"], /default-src 'none'; script-src 'self'; style-src 'self';.*frame-ancestors 'none'/);
  assert.ok(!answer.headers()["content-security-policy"].includes("unsafe"));
  assert.deepEqual(page.wrong, []);
});

const places = ["objects/core/v1/configmaps?ns=default", "objects/core/v1/configmaps/default/hostile", "objects/core/v1/configmaps/default/hostile?tab=edit",
  "objects/core/v1/configmaps/default/hostile?tab=history", "objects/core/v1/configmaps/default/hostile?tab=events", "objects/core/v1/configmaps/default/hostile?tab=graph", "objects/core/v1/configmaps/new?ns=default", "server", "documents?q=replicas", "documents/apps/v1/Deployment/spec.template", "documents/autoscaling/v2/HorizontalPodAutoscaler?with=v1", "documents/changes", "documents/definition"];

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing serious, ${colorScheme}, wide and narrow`, async () => {
    await server.patch(`${maps}/hostile`, { data: { changed: colorScheme } });
    for (const width of [1280, 380]) {
      const page = await browser.page({ colorScheme, viewport: { width, height: 800 }, bypassCSP: true });
      await page.goto(`${server.address}/explorer/`);
      await serious(page, axe, `login ${colorScheme} ${width}`);
      await logIn(page, server, `#/${places[0]}`);
      for (const place of places) {
        await page.goto(`${server.address}/explorer/#/${place}`);
        await page.waitForTimeout(800);
        const name = place.replace(/.*configmaps/, "configmaps").replaceAll(/[/?=&]/g, "-");
        await picture(page, `${name}-${colorScheme}-${width}`);
        await serious(page, axe, `${place} ${colorScheme} ${width}`);
        assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth + 1), `${place} is wider than ${width}`);
      }
      await page.context().close();
    }
  });
}

async function serious(page, source, where) {
  await page.evaluate(source);
  const { violations } = await page.evaluate(() => window.axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }));
  const found = violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160) + " " + (n.any[0]?.message ?? "")).join(" | ")}`);
  assert.deepEqual(found, [], where);
}
