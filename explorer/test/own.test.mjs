// A server of one kind of its own: without config maps, events, service accounts, definitions, or fairness.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { Browser, editorText, logIn, picture, retype, Server } from "./harness.mjs";

const root = path.resolve(import.meta.dirname, "../..");
const folder = path.join(root, ".tmp/own-api");
const boats = "objects/sea.example.com/v1beta1/boats";

// build makes a module with its server, as the tutorial does.
function build() {
  const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false -trimpath" };
  const run = (cwd, ...command) => {
    const made = spawnSync(command[0], command.slice(1), { cwd, env, encoding: "utf8" });
    if (made.status !== 0) throw new Error(`${command.join(" ")}: ${made.error ?? made.stderr}`);
  };
  fs.rmSync(folder, { recursive: true, force: true });
  run(root, "go", "run", "./generator/cmd/capstan-gen", "new", "api", "sea.example.com", "--kind", "Boat", "--builtin=false", "--dir", folder, "--capstan", root);
  run(folder, "go", "mod", "tidy");
  run(folder, "go", "build", "-o", "sea", ".");
  return path.join(folder, "sea");
}

let server, browser, page;
before(async () => {
  [server, browser] = await Promise.all([Server.start([], build()), Browser.start()]);
  page = await browser.page();
  await logIn(page, server, "");
});
after(async () => { await browser?.stop(); await server?.remove(); });

const at = (place) => page.goto(`${server.address}/explorer/#/${place}`);
const main = () => page.getByRole("main");

test("kinds are those that there are, and an object is made, refused, edited and deleted", async () => {
  await page.getByRole("complementary").getByRole("link", { name: "Boat" }).click();
  await page.getByText("live", { exact: true }).waitFor();
  assert.deepEqual(await page.getByRole("complementary").getByRole("listitem").allInnerTexts(), ["Namespace", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Boat"]);
  await at(`${boats}/new?ns=default`);
  await page.getByLabel("New Boat").waitFor();
  await retype(page, "New Boat", 'name: ""', "name: anna");
  await retype(page, "New Boat", "size:", "size: -1");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("list", { name: "What the server objects to" }).getByText("spec.size").waitFor();
  await retype(page, "New Boat", "size: -1", "size: 3");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "anna" }).waitFor();
  await at(`${boats}/default/anna?tab=edit`);
  await page.getByLabel("Edit anna").waitFor();
  await retype(page, "Edit anna", "size: 3", "size: 4");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("Saved Boat anna").waitFor();
  await at(`${boats}/default/anna?tab=events`);
  await main().getByText("This server has no events").waitFor();
  await at(`${boats}/default/anna?tab=graph`);
  await main().getByText("The object has no owners").waitFor();
  await at(`${boats}/default/anna`);
  await page.getByLabel("YAML of anna").waitFor();
  assert.match(await editorText(page, "YAML of anna"), /size: 4/);
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("button", { name: "Delete 1" }).click();
  await page.getByText("1 of 1 done").waitFor();
});

test("the pages of documents and of the server have what there is", async () => {
  await at("documents?q=boat%20size");
  await main().getByRole("link", { name: "Boat.spec.size" }).waitFor();
  await at("documents/definition");
  await main().getByRole("heading").first().waitFor();
  await at("server");
  await page.getByRole("region", { name: "Requests by verb" }).waitFor({ timeout: 20_000 });
  await picture(page, "own-server");
  await at("objects/core/v1/configmaps?ns=default");
  await main().getByText("This server has no resource configmaps").waitFor();
  assert.deepEqual(page.wrong, []);
});
