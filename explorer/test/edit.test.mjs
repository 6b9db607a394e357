import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { adminToken, Browser, editorText, logIn, picture, retype, Server } from "./harness.mjs";

let server, browser, page;
const deployments = "/apis/apps/v1/namespaces/default/deployments";
const labels = { app: "web" };
const edit = "#/objects/apps/v1/deployments/default/web?tab=edit";
before(async () => {
  [server, browser] = await Promise.all([Server.start(), Browser.start()]);
  await server.create(deployments + "?fieldManager=creator", { metadata: { name: "web", labels }, spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "nginx" }] } } } });
  page = await browser.page({ viewport: { width: 1280, height: 1500 } });
  await logIn(page, server, edit);
});
after(async () => { await browser?.stop(); await server?.remove(); });

const web = () => server.call("GET", `${deployments}/web`);
const button = (name, on = page) => on.getByRole("button", { name, exact: true });

// saved does what saves the object, and waits for the server's answer to it and for the page to say so. The message of an earlier save may still be there.
async function saved(act, on = page) {
  const stored = on.waitForResponse((a) => ["PATCH", "PUT"].includes(a.request().method()) && a.url().includes("/deployments/web?") && !a.url().includes("dryRun") && a.ok());
  await act();
  await stored;
  await on.getByText("Saved Deployment web").last().waitFor();
}

async function open() {
  await page.goto(`${server.address}/explorer/#/objects/core/v1/namespaces`);
  await page.goto(`${server.address}/explorer/${edit}`);
  await page.getByLabel("Edit web").waitFor();
}

test("the schema completes, explains and objects while one types", async () => {
  await page.getByLabel("Edit web").waitFor();
  await retype(page, "Edit web", "replicas: 1", "replicas: many");
  await page.locator(".cm-lintRange-error", { hasText: "many" }).waitFor();
  await retype(page, "Edit web", "replicas: many", "replicasX: 1");
  await page.locator(".cm-lintRange-error", { hasText: "replicasX" }).waitFor();
  await retype(page, "Edit web", "replicasX: 1", "");
  await page.keyboard.type("minRe");
  await page.locator(".cm-tooltip-autocomplete", { hasText: "minReadySeconds" }).waitFor();
  await picture(page, "complete");
  await page.keyboard.press("Escape");
  await retype(page, "Edit web", "minRe", "replicas: 1");
  await page.locator(".cm-line", { hasText: "replicas: 1" }).getByText("replicas").hover();
  await page.locator(".cm-tooltip-hover", { hasText: "How many pods" }).waitFor();
  await page.mouse.move(5, 5);
});

test("a preview shows what would be stored, and the server's causes are at their lines", async () => {
  await open();
  await retype(page, "Edit web", "replicas: 1", "replicas: 2");
  await button("Preview").click();
  await page.getByRole("region", { name: "What would be stored" }).locator(".cm-changedLine", { hasText: "replicas: 2" }).waitFor();
  await page.getByText("Others own spec.replicas (creator)").waitFor();
  await picture(page, "preview");
  assert.equal((await web()).spec.replicas, 1);
  await retype(page, "Edit web", "restartPolicy: Always", "restartPolicy: Never");
  await page.getByLabel("by", { exact: true }).selectOption("replace");
  await button("Save").click();
  await page.getByRole("list", { name: "What the server objects to" }).getByText("spec.template.spec.restartPolicy").waitFor();
  const line = (await editorText(page, "Edit web")).split("\n").findIndex((l) => l.includes("restartPolicy")) + 1;
  await button(`Line ${line}`).waitFor();
  await page.locator(".cm-lintRange-error", { hasText: "restartPolicy" }).waitFor();
  await picture(page, "objections");
  // Another cause has its line too when the text is the same, and was checked before.
  const refusal = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "Invalid", code: 422, message: "refused", details: { causes: [{ field: "spec.replicas", reason: "FieldValueInvalid", message: "too many" }] } };
  await page.route("**/deployments/web?*", (route) => route.fulfill({ status: 422, json: refusal }), { times: 1 });
  await button("Save").click();
  await page.locator(".cm-lintRange-error", { hasText: "replicas" }).waitFor();
  await page.locator(".cm-lintRange-error", { hasText: "restartPolicy" }).waitFor({ state: "detached" });
  await button("Discard changes").click();
});

test("an apply sends only what changed, once, and asks about the fields of others", async () => {
  await open();
  let writes = 0;
  page.on("request", (r) => { if (r.method() === "PATCH" && r.url().includes("/deployments/web")) writes++; });
  await retype(page, "Edit web", "replicas: 1", "replicas: 5");
  await button("Save").dblclick();
  await page.getByRole("heading", { name: "Fields that others own" }).waitFor();
  assert.equal(writes, 1);
  await page.getByText("owned by creator").waitFor();
  await picture(page, "conflict");
  await page.getByLabel("Give up").check();
  await saved(() => button("Go on").click());
  assert.equal((await web()).spec.replicas, 1);
  await open();
  await retype(page, "Edit web", "replicas: 1", "replicas: 6");
  await button("Save").click();
  await page.getByLabel("Take over").check();
  await saved(() => button("Go on").click());
  await page.getByLabel("Edit web").locator(".cm-line", { hasText: "replicas: 6" }).waitFor();
  const stored = await web();
  assert.equal(stored.spec.replicas, 6);
  const own = stored.metadata.managedFields.find((m) => m.manager === "capstan-explorer");
  assert.deepEqual(own.fieldsV1, { "f:spec": { "f:replicas": {} } });
});

test("two tabs that edit one object lose nothing", async () => {
  await open();
  const other = await browser.page({ viewport: { width: 1280, height: 1500 } });
  await logIn(other, server, edit, adminToken);
  await other.getByLabel("Edit web").waitFor();
  await retype(page, "Edit web", "revisionHistoryLimit: 10", "revisionHistoryLimit: 4");
  await page.getByLabel("by", { exact: true }).selectOption("replace");
  await other.getByLabel("by", { exact: true }).selectOption("replace");
  await retype(other, "Edit web", "revisionHistoryLimit: 10", "revisionHistoryLimit: 7");
  await retype(other, "Edit web", "progressDeadlineSeconds: 600", "progressDeadlineSeconds: 700");
  await saved(() => button("Save", other).click(), other);
  await page.getByText("changed this object while you edit it").waitFor();
  await button("Save").click();
  await page.getByRole("heading", { name: "Both of you changed these fields" }).waitFor();
  await page.getByLabel("Yours").check();
  await button("Go on").click();
  await page.getByText("The other change is in your text now").waitFor();
  await saved(() => button("Save").click());
  const stored = await web();
  assert.equal(stored.spec.revisionHistoryLimit, 4);
  assert.equal(stored.spec.progressDeadlineSeconds, 700);
  assert.deepEqual(other.wrong, []);
});

test("a login that ends in the middle of an edit keeps the text", async () => {
  await open();
  await retype(page, "Edit web", "replicas: 6", "replicas: 8");
  await page.route("**/deployments/web?*", (route, request) => route.continue({ headers: { ...request.headers(), authorization: "Bearer ended" } }), { times: 1 });
  await button("Save").click();
  await page.getByRole("heading", { name: "Your login has ended" }).waitFor();
  await picture(page, "login-again");
  await page.getByLabel("Token", { exact: true }).fill(adminToken);
  await saved(() => button("Log in").click());
  assert.equal((await web()).spec.replicas, 8);
});

test("a lost connection keeps the text, and the next save works", async () => {
  await open();
  await retype(page, "Edit web", "replicas: 8", "replicas: 9");
  await server.stop();
  await button("Save").click();
  await page.getByRole("alert").filter({ hasText: "cannot be reached" }).waitFor();
  assert.match(await editorText(page, "Edit web"), /replicas: 9/);
  await server.run(new URL(server.address).port);
  await saved(() => button("Save").click());
  assert.equal((await web()).spec.replicas, 9);
});

test("a text is kept when one leaves it, also at once, and forgotten at the log-out", async () => {
  await open();
  await retype(page, "Edit web", "replicas: 9", "replicas: 11");
  await page.evaluate(() => { location.hash = location.hash.replace("tab=edit", "tab=events"); });
  await page.getByLabel("Edit web").waitFor({ state: "detached" });
  await open();
  assert.match(await editorText(page, "Edit web"), /replicas: 11/);
  await page.goto(`${server.address}/explorer/#/objects/core/v1/configmaps/new?ns=default`);
  await page.getByLabel("New ConfigMap").waitFor();
  await retype(page, "New ConfigMap", 'name: ""', "name: begun");
  await open();
  await page.goto(`${server.address}/explorer/#/objects/core/v1/configmaps/new?ns=default`);
  await page.getByLabel("New ConfigMap").locator(".cm-line", { hasText: "name: begun" }).waitFor();
  await button("Log out").click();
  await page.getByLabel("Token", { exact: true }).fill(adminToken);
  await button("Log in").click();
  await page.getByLabel("New ConfigMap").locator(".cm-line", { hasText: 'name: ""' }).waitFor();
  await open();
  assert.match(await editorText(page, "Edit web"), /replicas: 9/);
});

test("typing over a selection replaces it, within the page's policy", async () => {
  await page.goto(`${server.address}/explorer/#/objects/core/v1/serviceaccounts/new?ns=default`);
  const box = page.getByLabel("New ServiceAccount");
  const typed = async (keys, text, want) => {
    for (const k of keys) await page.keyboard.press(k);
    await page.keyboard.type(text);
    assert.equal(await editorText(page, "New ServiceAccount"), want);
  };
  await box.click();
  await typed(["Control+a"], "data: one", "data: one");
  await typed(["Enter"], "end: two", "data: one\nend: two");
  await typed(["Control+Home", "Shift+ArrowDown", "Shift+ArrowRight"], "E", "End: two");
  await typed(["Shift+Home"], '"', '"E"nd: two'); // a quotation mark is put around what is selected
  await typed(["Control+z"], "", "End: two");
  await page.keyboard.press("Control+a");
  await page.keyboard.insertText("a: 1\nb: 2");
  assert.equal(await editorText(page, "New ServiceAccount"), "a: 1\nb: 2");
  assert.deepEqual(page.wrong, []);
});

test("a new object begins with what its kind requires", async () => {
  await page.goto(`${server.address}/explorer/#/objects/apps/v1/deployments/new?ns=default`);
  await page.getByLabel("New Deployment").waitFor();
  assert.match(await editorText(page, "New Deployment"), /selector:[^]*template:/);
  await page.goto(`${server.address}/explorer/#/objects/core/v1/configmaps/new?ns=default`);
  await page.getByLabel("New ConfigMap").waitFor();
  await retype(page, "New ConfigMap", 'name: ""', "name: made");
  await button("Create").click();
  await page.getByRole("heading", { name: "made" }).waitFor();
  assert.equal((await server.call("GET", "/api/v1/namespaces/default/configmaps/made")).metadata.name, "made");
});

test("what the page has made, it changes without a question", async () => {
  await page.goto(`${server.address}/explorer/#/objects/core/v1/configmaps/new?ns=default`);
  await page.getByLabel("New ConfigMap").waitFor();
  await page.getByLabel("New ConfigMap").locator(".cm-line").first().click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: own\n  namespace: default\ndata:\n  sail: red\n");
  await button("Create").click();
  await page.getByRole("heading", { name: "own", exact: true }).waitFor();
  await page.goto(`${server.address}/explorer/#/objects/core/v1/configmaps/default/own?tab=edit`);
  await page.getByLabel("Edit own").waitFor();
  await retype(page, "Edit own", "sail: red", "sail: blue");
  await button("Preview").click();
  await page.getByRole("region", { name: "What would be stored" }).locator(".cm-changedLine", { hasText: "sail: blue" }).waitFor();
  await button("Save").click();
  await page.getByText("Saved ConfigMap own").waitFor();
  assert.equal((await server.call("GET", "/api/v1/namespaces/default/configmaps/own")).data.sail, "blue");
  assert.deepEqual(page.wrong, []);
});

test("a new definition begins with an example, whose kind is listed at once, and whose rule speaks", async () => {
  await page.goto(`${server.address}/explorer/#/objects/apiextensions.k8s.io/v1/customresourcedefinitions/new`);
  await page.getByLabel("New CustomResourceDefinition").waitFor();
  await retype(page, "New CustomResourceDefinition", "scope: Namespaced", "scope: 7");
  await page.locator(".cm-lintRange-error", { hasText: "7" }).waitFor(); // the check is there
  await retype(page, "New CustomResourceDefinition", "scope: 7", "scope: Namespaced");
  await page.locator(".cm-lintRange-error").first().waitFor({ state: "detached" });
  await button("Create").click();
  await page.getByRole("complementary").getByRole("link", { name: "Boat", exact: true }).click();
  await page.getByRole("link", { name: "Create" }).click();
  await page.getByLabel("New Boat").waitFor();
  await retype(page, "New Boat", 'name: ""', "name: anna");
  await retype(page, "New Boat", "length: 1", "length: 3");
  await button("Create").click();
  const objection = page.getByRole("list", { name: "What the server objects to" });
  await objection.getByText("too many sails for its length").waitFor();
  assert.ok(!(await objection.innerText()).includes('"object"'));
  await retype(page, "New Boat", "length: 3", "length: 12");
  await button("Create").click();
  await page.getByRole("heading", { name: "anna", exact: true }).waitFor();
  await server.call("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/boats.example.com");
});

test("an object whose definition is deleted keeps its text", async () => {
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await server.create(definitions, { metadata: { name: "rafts.sea.example.com" }, spec: { group: "sea.example.com", scope: "Namespaced", names: { plural: "rafts", kind: "Raft" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object", properties: { logs: { type: "integer" } } } } }] } });
  const rafts = "/apis/sea.example.com/v1/namespaces/default/rafts";
  for (let i = 0; ; i++) {
    const made = await server.create(rafts, { apiVersion: "sea.example.com/v1", kind: "Raft", metadata: { name: "kon" }, logs: 3 }).catch((e) => e);
    if (!(made instanceof Error)) break;
    assert.ok(i < 100, made.message);
    await page.waitForTimeout(100);
  }
  await page.getByRole("complementary").getByRole("link", { name: "Raft" }).waitFor({ timeout: 25_000 });
  await page.goto(`${server.address}/explorer/#/objects/sea.example.com/v1/rafts/default/kon?tab=edit`);
  await page.getByLabel("Edit kon").waitFor();
  await retype(page, "Edit kon", "logs: 3", "logs: 9");
  await server.call("DELETE", `${definitions}/rafts.sea.example.com`);
  await page.getByText("The object was deleted meanwhile. Your text is kept").waitFor({ timeout: 30_000 });
  assert.match(await editorText(page, "Edit kon"), /logs: 9/);
  assert.deepEqual(page.wrong, []);
});
