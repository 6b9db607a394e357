import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Browser, logIn, picture, Server } from "./harness.mjs";
import { Kwok } from "./kwok.mjs";

let server, browser, page, kwok;
const pods = "/api/v1/namespaces/default/pods";
before(async () => {
  [server, browser] = await Promise.all([Server.start(["--connect-to-local-addresses", "--disable-admission-plugins=ServiceAccount"]), Browser.start()]);
  kwok = await Kwok.start(server, ["main", "side"]);
  await server.create("/api/v1/nodes", { metadata: { name: "far" } });
  await server.create(pods, { metadata: { name: "p" }, spec: { nodeName: "far", containers: [{ name: "main", image: "x" }, { name: "side", image: "y" }] } });
  page = await browser.page();
  await logIn(page, server, "#/objects/core/v1/pods/default/p?tab=containers");
});
after(async () => { await browser?.stop(); await kwok?.stop(); await server?.remove(); });

const tab = (name) => page.getByRole("navigation", { name: "Views of the object" }).getByRole("link", { name }).click();

test("containers run when an agent has reported them", async () => {
  await page.getByRole("row", { name: /main.*running since/ }).waitFor({ timeout: 60_000 }).catch((e) => { throw new Error(`${e.message}\n${kwok.said}`); });
});

test("a log is followed, container by container, as text", async () => {
  const hostile = `<img src=x onerror=alert(1)> \u001b[31mred\u001b[0m grüße`;
  kwok.write("main", "the first line");
  kwok.write("main", hostile);
  kwok.write("side", "of the side");
  await tab("Logs");
  const log = page.getByLabel("Log of main");
  await log.getByText("the first line").waitFor();
  await page.getByText("following", { exact: true }).waitFor();
  await log.getByText("<img src=x onerror=alert(1)> red grüße").waitFor();
  kwok.write("main", "a line that came later");
  await log.getByText("a line that came later").waitFor();
  await picture(page, "logs");
  await page.getByLabel("Container", { exact: true }).selectOption("side");
  await page.getByLabel("Log of side").getByText("of the side").waitFor();
  assert.ok(!(await page.getByLabel("Log of side").innerText()).includes("first line"));
  assert.equal(await page.locator("img").count(), 0);
});

test("a shell runs commands, shows what they say, and how it ended", async () => {
  await tab("Shell");
  await page.getByRole("button", { name: "Start sh" }).click();
  await page.getByText("connected", { exact: true }).waitFor();
  const output = page.getByLabel("Output");
  const say = async (line) => { await page.getByLabel("Command").fill(line); await page.keyboard.press("Enter"); };
  await say("echo $((6 * 7)) $GREETING");
  await output.getByText("42 grüße").waitFor();
  await say("ls /no/such/folder");
  await output.getByText("No such file").waitFor();
  // Letters of three bytes are cut by the ends of frames.
  await say("i=0; while [ $i -lt 20000 ]; do printf €; i=$((i + 1)); done; echo; echo 'fi''nished'");
  await output.getByText("finished").waitFor();
  const text = await output.innerText();
  assert.ok(text.includes("€".repeat(20_000)), "the text of many frames is not whole");
  await picture(page, "shell");
  await say("exit 3");
  await page.getByText(/^The shell has ended: .*exit (status|code) 3/).waitFor();
  await page.getByRole("button", { name: "Start sh" }).click();
  await page.getByText("connected", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Start sh" }).waitFor();
});

test("an agent that has gone is named, in logs and shell", async () => {
  await tab("Logs");
  await page.getByLabel("Log of main").getByText("the first line").waitFor();
  await kwok.stop();
  await page.getByText("ended", { exact: true }).waitFor();
  assert.match(await page.getByLabel("Log of main").innerText(), /the first line/); // what was read stays
  await tab("Shell");
  await page.getByRole("button", { name: "Start sh" }).click();
  await page.getByText("could not reach the node’s agent").waitFor();
  await tab("Logs");
  await page.getByRole("alert").or(page.locator(".notice")).filter({ hasText: /refused|reach/ }).waitFor();
  assert.deepEqual(page.wrong, []);
});
