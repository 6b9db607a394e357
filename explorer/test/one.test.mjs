import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, editorText, logIn, picture, Server } from "./harness.mjs";

let server, browser, page;
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const labels = { app: "web" };
before(async () => {
  [server, browser] = await Promise.all([Server.start(), Browser.start()]);
  await server.create(deployments + "?fieldManager=creator", { metadata: { name: "web", labels }, spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx", envFrom: [{ configMapRef: { name: "settings" } }] }] } } } });
  await server.patch(`${deployments}/web`, { spec: { replicas: 3 } }, "scaler");
  page = await browser.page();
  await logIn(page, server, "#/objects/apps/v1/deployments/default/web");
});
after(async () => { await browser?.stop(); await server?.remove(); });

const tab = (name) => page.getByRole("navigation", { name: "Views of the object" }).getByRole("link", { name }).click();

test("the owner of each field has a colour and an entry in the legend", async () => {
  await page.getByLabel("YAML of web").waitFor();
  const legend = page.getByRole("region", { name: "Owners of the fields" });
  const scaler = legend.getByRole("button", { name: "scaler" });
  await scaler.waitFor();
  const titles = await page.locator(".owner").evaluateAll((bars) => bars.map((b) => b.title));
  assert.equal(titles.filter((t) => t === "scaler").length, 1);
  assert.ok(titles.filter((t) => t === "creator").length > 8);
  await legend.getByText("1 field", { exact: true }).click();
  await legend.getByText("spec.replicas", { exact: true }).waitFor();
  await picture(page, "owners");
  await scaler.click();
  await page.locator(".line-dim").first().waitFor();
  assert.match((await page.locator(".cm-line:not(.line-dim)").allInnerTexts()).join(), /^\s*replicas: 3$/);
  await scaler.click();
});

test("the history shows what each change did", async () => {
  await tab("History");
  await page.getByRole("region", { name: "States" }).getByText("scaler").waitFor();
  await page.getByLabel("What changed", { exact: true }).waitFor();
  assert.match(await page.locator(".cm-changedLine", { hasText: "replicas" }).innerText(), /replicas: 3/);
  await server.patch(`${deployments}/web`, { spec: { paused: true } }, "pauser");
  await page.locator(".cm-changedLine", { hasText: "paused: true" }).waitFor();
  await picture(page, "history");
});

test("the history goes on where it was when its connection broke, and says when a part is gone", async () => {
  await tab("YAML and owners");
  await tab("History");
  const rows = page.getByRole("region", { name: "States" }).getByRole("row");
  await rows.filter({ hasText: "pauser" }).waitFor();
  const before = await rows.count();
  await page.route("**/deployments?*watch=true*", (route) => route.abort());
  await server.restart();
  await page.getByText("the history goes on when the server is back").waitFor();
  await server.patch(`${deployments}/web`, { spec: { replicas: 6 } }, "while-away");
  await page.unroute("**/deployments?*watch=true*");
  await rows.filter({ hasText: "while-away" }).waitFor({ timeout: 20_000 });
  assert.equal(await rows.count(), before + 1);
  await page.getByText("the history goes on when the server is back").waitFor({ state: "detached" });

  await page.route("**/deployments?*watch=true*", (route) => route.abort());
  const { metadata: { resourceVersion } } = await server.call("GET", `${deployments}/web`);
  await server.stop();
  server.flags = ["--history=1s"];
  await server.run(new URL(server.address).port);
  await server.patch(`${deployments}/web`, { spec: { replicas: 4 } }, "forgotten");
  await server.patch(`${deployments}/web`, { spec: { replicas: 5 } }, "known");
  for (let i = 0; ; i++) {
    const known = await server.call("GET", `${deployments}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`).catch((e) => e.code);
    if (known === 410) break;
    assert.ok(i < 100, "the server forgets nothing");
    await page.waitForTimeout(200);
  }
  await page.unroute("**/deployments?*watch=true*");
  await page.getByText("changes of that time are gone").waitFor({ timeout: 30_000 });
  await rows.filter({ hasText: "changes before are gone" }).filter({ hasText: "known" }).waitFor();
  await server.patch(`${deployments}/web`, { spec: { replicas: 3 } }, "scaler");
  await rows.last().filter({ hasText: "scaler" }).waitFor();
  server.flags = [];
  await server.restart();
});

test("owners and references are a picture whose boxes lead on", async () => {
  const { metadata: { uid } } = await server.call("GET", `${deployments}/web`);
  await server.create("/apis/apps/v1/namespaces/default/replicasets", { metadata: { name: "web-1", ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name: "web", uid, controller: true }] },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx" }] } } } });
  await tab("Graph");
  await page.getByRole("link", { name: "ConfigMap settings" }).waitFor();
  await page.getByRole("link", { name: "ReplicaSet web-1" }).waitFor();
  await picture(page, "graph");
  await page.getByRole("link", { name: "ReplicaSet web-1" }).click();
  await page.getByRole("heading", { name: "web-1" }).waitFor();
  await tab("Graph");
  await page.getByRole("link", { name: "Deployment web" }).click();
  await page.getByRole("heading", { name: "web", exact: true }).waitFor();
});

test("events and conditions come as they happen", async () => {
  const { metadata: { uid } } = await server.call("GET", `${deployments}/web`);
  await tab("Events");
  await page.getByText("No events in the last hour").waitFor();
  await server.create("/api/v1/namespaces/default/events", { metadata: { name: "e1" }, involvedObject: { apiVersion: "apps/v1", kind: "Deployment", name: "web", namespace: "default", uid },
    reason: "Scaled", message: "to three", type: "Normal", lastTimestamp: new Date().toISOString().replace(/\.\d+/, "") });
  await page.getByRole("cell", { name: "Scaled" }).waitFor();
  await server.call("PATCH", `${deployments}/web/status`, { status: { conditions: [
    { type: "Available", status: "True", reason: "Enough", lastTransitionTime: "2026-01-02T00:00:00Z" }, { type: "Progressing", status: "False", reason: "Slow", lastTransitionTime: "2026-01-01T00:00:00Z" }] } }, { type: "application/merge-patch+json" });
  await tab("Conditions");
  await page.getByRole("heading", { name: "Available is True" }).waitFor();
  assert.deepEqual(await page.locator(".timeline h3").allInnerTexts(), ["Available is True", "Progressing is False"]);
  await picture(page, "conditions");
});

test("a pod has containers, and a log that says why it cannot be read", async () => {
  await server.create("/api/v1/namespaces/default/pods", { metadata: { name: "p" }, spec: { containers: [{ name: "main", image: "nginx" }], automountServiceAccountToken: false } });
  await page.goto(`${server.address}/explorer/#/objects/core/v1/pods/default/p?tab=containers`);
  await page.getByRole("cell", { name: "main" }).waitFor();
  await tab("Logs");
  await page.getByText("The pod has no node yet").waitFor();
  await tab("Shell");
  await page.getByRole("button", { name: "Start sh" }).click();
  await page.getByText("The pod has no node yet").waitFor();
});

test("an object that is deleted stays in view, with a notice", async () => {
  await server.create("/api/v1/namespaces/default/configmaps", { metadata: { name: "short" }, data: { x: "still here" } });
  await page.goto(`${server.address}/explorer/#/objects/core/v1/configmaps/default/short`);
  await page.getByLabel("YAML of short").waitFor();
  await server.call("DELETE", "/api/v1/namespaces/default/configmaps/short");
  await page.getByText("This object was deleted").waitFor();
  assert.match(await editorText(page, "YAML of short"), /still here/);
  assert.deepEqual(page.wrong, []);
});
