// The pictures of docs/howto/explorer.md, of a small shop. PICTURES=folder keeps them: make explorer-pictures.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { Browser, logIn, retype, Server } from "./harness.mjs";

const folder = process.env.PICTURES;
const largest = 120 * 1024;
const shop = "/namespaces/shop";

let server, browser, page;
before(async () => {
  [server, browser] = await Promise.all([Server.start(["--slow-request-threshold=1s", "--disable-admission-plugins=ServiceAccount"]), Browser.start()]);
  await server.create("/api/v1/namespaces", { metadata: { name: "shop" } });
  for (const name of ["cart", "search", "web"]) await deployment(name);
  await server.patch(`/apis/apps/v1${shop}/deployments/web`, { spec: { replicas: 3 } }, "autoscaler");
  for (const [i, name] of ["cart", "search", "web", "web", "web"].entries()) await pod(`${name}-${["x7k2p", "m4q9d", "b8f5c", "t2n6h", "r9w3z"][i]}`, name, i !== 3);
  page = await browser.page({ viewport: { width: 1040, height: 640 } });
});
after(async () => { await browser?.stop(); await server?.remove(); });

const containers = (name) => [{ name, image: `registry.example.com/${name}:1.4`, resources: { requests: { cpu: "100m", memory: "64Mi" } } }];

function deployment(name) {
  const labels = { app: name };
  return server.create(`/apis/apps/v1${shop}/deployments?fieldManager=shop-release`, { metadata: { name, labels }, spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: containers(name) } } } });
}

async function pod(name, app, ready) {
  const at = `/api/v1${shop}/pods`;
  await server.create(at, { metadata: { name, labels: { app } }, spec: { nodeName: `node-${name.charCodeAt(name.length - 1) % 3 + 1}`, containers: containers(app) } });
  const state = ready ? { running: { startedAt: new Date().toISOString().replace(/\.\d+/, "") } } : { waiting: { reason: "ImagePullBackOff", message: "the image is not there" } };
  const status = { phase: ready ? "Running" : "Pending", conditions: [{ type: "Ready", status: ready ? "True" : "False" }], containerStatuses: [{ name: app, ready, restartCount: 0, image: "", imageID: "", state }] };
  await server.call("PATCH", `${at}/${name}/status`, { status }, { type: "application/merge-patch+json" });
}

// take keeps a picture, which the page of the documentation shows with an alternative text.
async function take(name) {
  const file = `explorer-${name}.png`;
  const picture = await page.screenshot();
  assert.ok(picture.length <= largest, `${file} has ${picture.length} bytes`);
  assert.match(fs.readFileSync(path.resolve(import.meta.dirname, "../../docs/howto/explorer.md"), "utf8"), new RegExp(`!\\[[^\\]]{20,}\\]\\(${file}\\)`));
  if (folder) fs.writeFileSync(path.join(folder, file), picture);
}

const at = (place) => page.goto(`${server.address}/explorer/${place}`);

test("the pictures of the documentation show what it says", async () => {
  await at("");
  await page.getByLabel("Token", { exact: true }).waitFor();
  await take("login");

  await logIn(page, server, "#/objects/core/v1/pods?ns=shop");
  await page.getByRole("grid").getByText("ImagePullBackOff").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
  await page.mouse.move(5, 5);
  await take("table");

  await at("#/objects/apps/v1/deployments/shop/web");
  await page.getByRole("region", { name: "Owners of the fields" }).getByRole("button", { name: "autoscaler" }).waitFor();
  await take("owners");

  await at("#/objects/apps/v1/deployments/shop/web?tab=edit");
  await page.getByLabel("Edit web").waitFor();
  await retype(page, "Edit web", "replicas: 3", "replicas: -3");
  await page.getByLabel("by", { exact: true }).selectOption("replace");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByRole("list", { name: "What the server objects to" }).getByText("spec.replicas").first().waitFor();
  await page.mouse.move(5, 5);
  await take("cause");
  await page.getByRole("button", { name: "Discard changes" }).click();

  await at("#/documents/apps/v1/Deployment/spec.strategy");
  await page.locator(".field.here").waitFor();
  await take("documents");

  await at("#/server");
  await page.getByRole("region", { name: "Requests by verb" }).waitFor({ timeout: 20_000 });
  for (const end = Date.now() + (folder ? 70_000 : 0); Date.now() < end;) await load(Math.round(20 + 15 * Math.sin(Date.now() / 6000)));
  await take("server");
  assert.deepEqual(page.wrong, []);
});

// load asks so many times in some hundred milliseconds.
async function load(times) {
  const asks = Array.from({ length: times }, (_, i) => (i % 6 ? server.call("GET", `/api/v1${shop}/pods${i % 2 ? "" : "?limit=2"}`) : server.patch(`/apis/apps/v1${shop}/deployments/cart`, { metadata: { annotations: { round: String(Date.now()) } } })));
  await Promise.all(asks);
  await page.waitForTimeout(300);
}
