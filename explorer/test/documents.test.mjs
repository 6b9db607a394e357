import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { annaToken, Browser, logIn, picture, retype, Server } from "./harness.mjs";

let server, browser, page;
const hostile = `<img src=x onerror=alert(1)>`;
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const port = { type: "integer", minimum: 1, maximum: 65535 };
const boats = {
  metadata: { name: "boats.sea.example.com" },
  spec: { group: "sea.example.com", scope: "Namespaced", names: { plural: "boats", kind: "Boat" }, versions: [
    { name: "v2", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", description: hostile, required: ["spec"], properties: { spec: { type: "object", "x-kubernetes-validations": [{ rule: "self.port > 2", message: hostile }], properties: {
      port: { ...port, maximum: 9000 }, [hostile]: { type: "string", description: hostile, enum: [hostile] }, sails: { type: "array", "x-kubernetes-list-type": "set", maxItems: 3, items: { type: "string", maxLength: 5 } } } } } } } },
    { name: "v1", served: true, storage: false, schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: { port, old: { type: "string" } } } } } } }] },
};
// cargo is a field with more fields than are drawn at once.
const cargo = { type: "object", properties: Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`crate-${String(i).padStart(4, "0")}`, { type: "string" }])) };
before(async () => {
  [server, browser] = await Promise.all([Server.start(), Browser.start()]);
  const large = structuredClone(boats);
  large.spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.cargo = cargo;
  await server.create(definitions, large);
  page = await browser.page({ viewport: { width: 1280, height: 1000 } });
  await logIn(page, server, "#/documents");
});
after(async () => { await browser?.stop(); await server?.remove(); });

const at = (place) => page.goto(`${server.address}/explorer/${place}`);
const field = (path) => page.locator(".field[aria-current=location]").filter({ has: page.getByRole("link", { name: path, exact: true }) });
const main = () => page.getByRole("main");

test("all kinds and fields are found by some words", async () => {
  await main().getByText(/\d+ kinds with [\d,]+ fields/).waitFor({ timeout: 60_000 });
  await page.getByLabel("Search kinds and fields").fill("deployment replicas");
  await main().getByRole("link", { name: "Deployment.spec.replicas" }).waitFor();
  assert.equal(await main().locator(".found a").first().innerText(), "Deployment.spec.replicas");
  await page.getByLabel("Search kinds and fields").fill("boat sails");
  await main().getByRole("link", { name: "Boat.spec.sails" }).waitFor();
  await page.getByLabel("Search kinds and fields").fill("no such thing at all");
  await main().getByText("Nothing was found").waitFor();
  await page.getByLabel("Search kinds and fields").fill("toleration seconds");
  await main().getByRole("link", { name: /\.tolerationSeconds$/ }).first().waitFor();
  await page.getByLabel("Search kinds and fields").press("Enter");
  await page.locator(".field.here").waitFor();
});

test("a link leads to a field, whose types lead on", async () => {
  await at("#/documents/apps/v1/Deployment/spec.template");
  await field("template").waitFor();
  await picture(page, "documents");
  await main().getByRole("button", { name: "Fields of spec.template.spec" }).click();
  await main().getByRole("button", { name: "Fields of spec.template.spec.containers", exact: true }).click();
  await main().getByText("strategic merge patches merge items by name").first().waitFor();
  await main().getByRole("link", { name: "minReadySeconds" }).click();
  await field("minReadySeconds").getByText("at least 0").waitFor();
  assert.match(page.url(), /#\/documents\/apps\/v1\/Deployment\/spec\.minReadySeconds$/);
  await main().getByRole("link", { name: "PodTemplateSpec" }).click();
  await page.getByRole("heading", { name: "PodTemplateSpec", exact: false, level: 1 }).waitFor();
  await at("#/documents/core/v1/Pod/spec.containers.ports.protocol");
  await field("protocol").getByText('one of "SCTP", "TCP", "UDP"').waitFor();
  await field("protocol").getByText('default "TCP"').waitFor();
  await page.getByLabel("Find a field of Pod").fill("hostpath.path");
  await main().getByRole("link", { name: "spec.volumes.hostPath.path" }).click();
  await field("path").getByText("required").waitFor();
  await at("#/documents/apps/v1/Nothing");
  await main().getByText("has no type Nothing").waitFor();
});

test("custom kinds have their bounds and rules, and hostile texts of them are texts", async () => {
  await at("#/documents/sea.example.com/v2/Boat/spec");
  await field("spec").getByText("self.port > 2").waitFor();
  await main().getByText("a set: no item twice").waitFor();
  await main().getByText("each item: at most 5 characters").waitFor();
  await main().getByText("1, at most 9000").waitFor();
  await main().getByText("There is no record of when this kind came").waitFor();
  assert.ok(await main().getByText(hostile).count() >= 3);
  await main().getByRole("link", { name: hostile }).click();
  await field(hostile).waitFor();
  assert.equal(await page.locator("img").count(), 0);
  await at("#/documents/sea.example.com/v2/Boat/spec.cargo.crate-0999");
  await field("crate-0999").waitFor();
  await at("#/documents/sea.example.com/v2/Boat/spec.cargo");
  await main().getByRole("button", { name: "800 more" }).click();
  await main().getByRole("button", { name: "600 more" }).waitFor();
});

test("versions are next to each other with their differences", async () => {
  await at("#/documents/sea.example.com/v2/Boat");
  await main().getByRole("link", { name: "compare" }).click();
  await main().getByText(/\d+ of \d+ fields differ/).waitFor();
  const row = (name) => page.getByRole("row", { name });
  await row(/^spec\.port differs .*9000.*65535/).waitFor();
  await row(/^spec\.old only v1/).waitFor();
  await row(/^spec\.sails only v2/).waitFor();
  await page.getByLabel("all fields").check();
  await row(/^apiVersion/).waitFor();
});

test("since when a kind is there, and what changed since the release", async () => {
  await at("#/documents/flowcontrol.apiserver.k8s.io/v1beta2/PriorityLevelConfiguration/spec.exempt");
  await field("exempt").getByText("new since").waitFor();
  await at("#/documents/changes");
  await main().getByRole("heading", { name: "New", exact: true }).waitFor();
  await main().getByText("There is no record of sea.example.com").waitFor();
  await main().getByRole("link", { name: "exempt" }).first().click();
  await field("exempt").waitFor();
  await page.route("**/explorer/changes.json", (route) => route.fulfill({ status: 404, body: "" }));
  await page.reload(); // what was read is kept for the session
  await page.getByLabel("Token", { exact: true }).fill("token-of-admin");
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("link", { name: "What changed" }).click();
  await main().getByText("This server has no record of changes.").waitFor();
  await page.unroute("**/explorer/changes.json");
});

const paste = async (text) => {
  await page.getByLabel("Definition or schema").click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.press("Delete");
  const typed = typeof text === "string" ? text : JSON.stringify(text, null, 2);
  await page.keyboard.insertText(typed);
  await page.getByLabel("Definition or schema").locator(".cm-line").first().filter({ hasText: typed.split("\n")[0] }).waitFor();
  await page.getByRole("button", { name: "Check", exact: true }).click();
};
const objections = () => page.getByRole("list", { name: "What the server objects to" });

test("a schema that is pasted in is explained and checked", async () => {
  await at("#/documents/definition");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await page.getByText("The server would take this definition. Its schema is structural; its rule compiles").waitFor();
  await page.getByRole("region", { name: "Fields of the definition" }).getByText("at least 1, at most 65535").waitFor();
  await picture(page, "definition");
  await retype(page, "Definition or schema", "- rule:", "- rule: self.prt != 22");
  await page.getByRole("button", { name: "Check", exact: true }).click();
  await objections().getByText(/prt/).first().waitFor();
  await page.locator(".cm-lintRange-error").first().waitFor();
  const line = Number(/Line (\d+)/.exec(await objections().innerText())[1]);
  assert.equal(line, 19, "the line of the rule");
  await paste("type: object\nproperties:\n  spec:\n    properties:\n      a: {}\n");
  await objections().getByText(/must not be empty/).first().waitFor();
  await paste("type: object\nproperties:\n  l:\n    type: array\n    items:\n      type: array\n      items: {type: string}\n    x-kubernetes-validations:\n    - rule: self.all(a, self.all(b, a.all(c, b.all(d, c == d))))\n");
  await objections().getByText(/cost|budget/i).first().waitFor();
  await paste("just a text");
  await page.getByRole("alert").filter({ hasText: "no object" }).waitFor();
  await paste("a: 1");
  await page.getByRole("alert").filter({ hasText: "neither a CustomResourceDefinition nor a schema" }).waitFor();
});

test("a definition that the server has is checked too, and nothing is stored", async () => {
  await at("#/documents/definition");
  await paste({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", ...boats });
  await page.getByText("it was asked about the same one in another group").waitFor();
  await page.getByLabel("Version").selectOption("v1");
  await page.getByRole("region", { name: "Fields of the definition" }).getByRole("button", { name: "Fields of spec" }).waitFor();
  await paste({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: "wrong" }, spec: { ...boats.spec, scope: "Everywhere", unknownField: 1 } });
  await objections().getByText("unknownField").waitFor();
  const { items } = await server.call("GET", definitions);
  assert.deepEqual(items.map((d) => d.metadata.name), ["boats.sea.example.com"]);
  assert.deepEqual(page.wrong, []);
});

test("without the right to create definitions the page says so, and explains the fields all the same", async () => {
  const other = await browser.page();
  await logIn(other, server, "#/documents/definition", annaToken);
  await other.getByRole("button", { name: "Check", exact: true }).click();
  await other.getByRole("alert").filter({ hasText: "verb “create” for “customresourcedefinitions”" }).waitFor();
  await other.getByRole("region", { name: "Fields of the definition" }).getByText("spec", { exact: true }).waitFor();
  await other.keyboard.press("2");
  await other.getByRole("heading", { name: "Kinds and their fields" }).waitFor();
  assert.deepEqual(other.wrong, []);
});
