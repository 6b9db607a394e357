import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, logIn, mainThread, picture, Server } from "./harness.mjs";

const count = Number(process.env.ROWS ?? 20_000);
const nameOf = (i) => `pod-${String(i).padStart(6, "0")}`;
// The longest time in milliseconds that the page may compute without a pause while it is used. Time that the machine
// gives to other programs does not count.
const longest = 150;

let server, browser;
before(async () => {
  [server, browser] = await Promise.all([Server.start(["--in-memory", "--disable-admission-plugins=ServiceAccount"]), Browser.start()]);
  let next = 0;
  const work = async () => {
    while (next < count) {
      const i = next++;
      await server.create("/api/v1/namespaces/default/pods", { metadata: { name: nameOf(i), labels: { app: `app-${i % 50}` } }, spec: { containers: [{ name: "c", image: "x" }] } });
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
});
after(async () => { await browser?.stop(); await server?.remove(); });

test(`${count} pods are listed, scrolled, searched and sorted without a stutter`, async () => {
  const page = await browser.page();
  await logIn(page, server);
  const tasks = await mainThread(browser, page, async () => {
    await use(page);
    await page.evaluate(() => new Promise((done) => { setTimeout(() => {
      let x = 1;
      for (let i = 0; i < 2e8; i++) x = (x * 1103515245 + 12345) | 0;
      setTimeout(() => done(x)); // when this task is over
    }); }));
  });
  const [made, worst] = tasks; // the measure sees a stutter that is made, after all others
  console.log(`# longest task ${Math.round(worst)} ms, ${tasks.filter((t) => t > 50).length - 1} above 50 ms; the one that was made: ${Math.round(made)} ms`);
  assert.ok(made > longest, `a stutter that was made took ${made} ms`);
  assert.ok(worst < longest, `the page did not answer for ${worst} ms`);
  assert.ok((await page.getByRole("grid").getByRole("row").count()) < 120);
  assert.deepEqual(page.wrong, []);
});

// use scrolls, searches and sorts the table of pods.
async function use(page) {
  await page.goto(`${server.address}/explorer/#/objects/core/v1/pods?ns=default`);
  const shown = (text) => page.locator("h1 .count").getByText(text, { exact: true });
  await shown(String(count)).waitFor({ timeout: 60_000 });
  await page.getByText("live", { exact: true }).waitFor();
  const grid = page.getByRole("grid");
  await grid.hover();
  for (let i = 0; i < 60; i++) await page.mouse.wheel(0, 4000);
  await page.keyboard.press("G");
  await grid.getByText(nameOf(count - 1)).waitFor();
  await page.getByLabel("Search in the table").fill("pod-01234");
  await shown(`10 of ${count}`).waitFor();
  await page.getByLabel("Search in the table").fill("");
  await page.getByRole("button", { name: "Name" }).click();
  await page.getByRole("button", { name: "Name ↑" }).click();
  await grid.getByRole("row").nth(1).waitFor();
  await shown(String(count)).waitFor();
  await picture(page, "pods");
}

test("an object of a megabyte and more stays usable", async () => {
  const data = Object.fromEntries(Array.from({ length: 9000 }, (_, i) => [`key-${i}`, "x".repeat(100)]));
  await server.create("/api/v1/namespaces/default/configmaps", { metadata: { name: "big" }, data });
  const page = await browser.page();
  await logIn(page, server, "#/objects/core/v1/configmaps/default/big");
  await page.getByLabel("YAML of big").waitFor();
  await page.goto(`${server.address}/explorer/#/objects/core/v1/configmaps/default/big?tab=edit`);
  await page.getByLabel("Edit big").locator(".cm-line", { hasText: "key-0" }).click();
  await page.keyboard.press("End");
  const begin = Date.now();
  await page.keyboard.type("abc");
  await page.getByLabel("Edit big").locator(".cm-line", { hasText: /abc/ }).waitFor();
  assert.ok(Date.now() - begin < 3000, `typing took ${Date.now() - begin} ms`);
  assert.deepEqual(page.wrong, []);
});

test("an object that is too large is refused in words, and its text stays", async () => {
  const page = await browser.page();
  await logIn(page, server, "#/objects/core/v1/configmaps/new?ns=default");
  await page.getByLabel("New ConfigMap").waitFor();
  await page.getByLabel("New ConfigMap").locator(".cm-line").first().click();
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  const parts = Array.from({ length: 50 }, (_, i) => `  part-${i}: ${"x".repeat(100_000)}`);
  await page.keyboard.insertText(`apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: huge\n  namespace: default\ndata:\n${parts.join("\n")}\n`);
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("alert").filter({ hasText: "limit is 3145728 bytes. Split the object" }).waitFor({ timeout: 60_000 });
  await page.getByLabel("New ConfigMap").locator(".cm-line").last().click();
  await page.keyboard.press("Control+Home");
  await page.getByLabel("New ConfigMap").locator(".cm-line", { hasText: "name: huge" }).waitFor();
  assert.deepEqual(page.wrong, []);
});
