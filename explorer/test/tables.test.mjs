import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, logIn, picture, Server } from "./harness.mjs";

let server, browser, page;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), Browser.start()]);
  page = await browser.page();
  await logIn(page, server);
});
after(async () => { await browser?.stop(); await server?.remove(); });

const maps = "/api/v1/namespaces/default/configmaps";
const map = (name, labels) => ({ metadata: { name, labels }, data: { x: "1" } });
const grid = () => page.getByRole("grid");
const at = (place) => page.goto(`${server.address}/explorer/${place}`);

// quickly presses two keys before the browser can paint, as on a busy machine.
const quickly = (...pair) => page.evaluate(([first, second]) => new Promise((done) => {
  const press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, composed: true, cancelable: true }));
  press(first);
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { press(second); port1.close(); done(); };
  port2.postMessage(null);
}), pair);

test("a table follows the server, also over its restart", async () => {
  await at("#/objects/core/v1/configmaps?ns=default");
  await page.getByText("live", { exact: true }).waitFor();
  await server.create(maps, map("first"));
  await grid().getByText("first").waitFor();
  await server.call("DELETE", `${maps}/first`);
  await grid().getByText("first").waitFor({ state: "detached" });
  await server.stop();
  await page.getByText("connection lost").waitFor();
  await server.run(new URL(server.address).port);
  await server.create(maps, map("after-restart"));
  await grid().getByText("after-restart").waitFor();
  await page.getByText("live", { exact: true }).waitFor();
});

test("columns stand below their heads, however long the cells are", async () => {
  const node = (name, roles) => server.create("/api/v1/nodes", { metadata: { name, labels: Object.fromEntries(roles.map((r) => [`node-role.kubernetes.io/${r}`, ""])) } });
  await node("short", ["a"]);
  await node("long", Array.from({ length: 9 }, (_, i) => `a-rather-long-role-${i}`));
  for (const width of [1280, 380]) {
    await page.setViewportSize({ width, height: 800 });
    await at("#/objects/core/v1/nodes");
    await grid().getByText("long", { exact: true }).waitFor();
    const edges = await grid().getByRole("row").evaluateAll((rows) => rows.map((r) => [...r.children].map((c) => Math.round(c.getBoundingClientRect().left)).join(" ")));
    assert.equal(new Set(edges).size, 1, edges.join("\n"));
    await at("#/objects/core/v1/namespaces");
  }
  await page.setViewportSize({ width: 1280, height: 800 });
});

test("search, selectors and the keyboard", async () => {
  for (const [name, tier] of [["alpha", "web"], ["beta", "web"], ["gamma", "db"]]) await server.create(maps, map(name, { tier }));
  await at("#/objects/core/v1/configmaps?ns=default");
  await grid().getByText("gamma").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("alph");
  await grid().getByText("beta").waitFor({ state: "detached" });
  await page.getByLabel("Search in the table").fill("");
  await page.getByLabel("Label selector").fill("tier=db");
  await page.getByLabel("Label selector").press("Enter");
  await grid().getByText("alpha").waitFor({ state: "detached" });
  await grid().getByText("gamma").waitFor();
  await page.getByLabel("Label selector").fill("");
  await page.getByLabel("Label selector").press("Enter");
  await page.getByLabel("Field selector").fill("metadata.name=beta");
  await page.getByLabel("Field selector").press("Enter");
  await grid().getByText("gamma").waitFor({ state: "detached" });
  await grid().getByText("beta").waitFor();
  await grid().focus();
  await quickly("j", "Enter");
  await page.getByRole("heading", { name: "beta" }).waitFor();
  const edit = page.getByRole("link", { name: "Edit", exact: true });
  await edit.waitFor(); // when the rights are known
  await page.keyboard.press("ArrowRight");
  await edit.and(page.locator("[aria-current]")).waitFor();
  await page.keyboard.press("Escape");
  await grid().waitFor();
  await page.keyboard.press(":");
  await page.getByRole("combobox", { name: "Kind, namespace or page" }).fill("deploy");
  await picture(page, "command");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: /^deployments/ }).waitFor();
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard" }).waitFor();
  await page.keyboard.press("Escape");
});

test("labels and deletes of several objects are previewed", async () => {
  await at("#/objects/core/v1/configmaps?ns=default");
  for (const name of ["alpha", "beta"]) await page.getByLabel(`Choose ${name}`).check();
  await page.getByRole("button", { name: "Label", exact: true }).click();
  await page.getByLabel(/^Changes/).fill("team=red bad/key/x=1");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText(/Invalid value/).first().waitFor();
  await page.getByLabel(/^Changes/).fill("team=red");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("would be changed").first().waitFor();
  await page.getByRole("button", { name: "Label 2" }).click();
  await page.getByText("2 of 2 done").waitFor();
  await page.getByRole("button", { name: "Close", exact: true }).last().click();
  assert.equal((await server.call("GET", `${maps}/beta`)).metadata.labels.team, "red");

  await page.getByLabel("Choose alpha").check();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("would be deleted").waitFor();
  await picture(page, "delete");
  assert.equal((await server.call("GET", `${maps}/alpha`)).metadata.name, "alpha");
  await page.getByRole("button", { name: "Delete 1" }).click();
  await page.getByText("1 of 1 done").waitFor();
  await assert.rejects(server.call("GET", `${maps}/alpha`), { code: 404 });
  await page.getByRole("button", { name: "Close", exact: true }).last().click();
});

test("custom kinds come, and go while their table is open", async () => {
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await server.create(definitions, { metadata: { name: "boats.sea.example.com" }, spec: { group: "sea.example.com", scope: "Namespaced", names: { plural: "boats", kind: "Boat" },
    versions: [{ name: "v1", served: true, storage: true, selectableFields: [{ jsonPath: ".spec.port" }], schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", required: ["port"], properties: { port: { type: "string", maxLength: 5 } } } } } } }] } });
  await page.getByRole("complementary").getByRole("link", { name: "Boat" }).click({ timeout: 25_000 });
  await page.getByText("live", { exact: true }).waitFor();
  await server.create("/apis/sea.example.com/v1/namespaces/default/boats", { apiVersion: "sea.example.com/v1", kind: "Boat", metadata: { name: "anna" }, spec: { port: "kiel" } });
  await grid().getByText("anna").waitFor();
  await server.call("DELETE", `${definitions}/boats.sea.example.com`);
  await page.getByText("their definition was deleted").waitFor({ timeout: 30_000 });
  assert.deepEqual(page.wrong, []);
});
