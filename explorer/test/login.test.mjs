import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { annaToken, Browser, logIn, picture, Server } from "./harness.mjs";

let server, browser;
before(async () => { [server, browser] = await Promise.all([Server.start(), Browser.start()]); });
after(async () => { await browser?.stop(); await server?.remove(); });

test("a token logs in, a wrong one is explained, and nothing is kept", async () => {
  const page = await browser.page();
  await page.goto(`${server.address}/explorer/`);
  await picture(page, "login");
  await page.getByLabel("Token", { exact: true }).fill("wrong");
  await page.getByRole("button", { name: "Log in", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "token is wrong" }).waitFor();
  await logIn(page, server);
  await page.getByRole("grid").getByText("kube-system").waitFor();
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]));
  assert.ok(!kept.includes("token-of-admin"), kept);
  await page.reload();
  await page.getByLabel("Token", { exact: true }).waitFor();
  assert.deepEqual(page.wrong, []);
});

test("a link logs in once, and its session ends with the log-out", async () => {
  const link = await server.link();
  const page = await browser.page();
  let token;
  page.on("request", (r) => { token = r.headers().authorization ?? token; });
  await page.goto(link);
  await page.getByRole("button", { name: "Log out" }).waitFor();
  assert.ok(!page.url().includes("link="), page.url());
  await page.getByText("system:serviceaccount:kube-system:explorer").waitFor();

  const second = await browser.page();
  await second.goto(link);
  await second.getByRole("alert").filter({ hasText: "used before" }).waitFor();

  await page.getByText("live", { exact: true }).waitFor();
  const used = token.replace("Bearer ", "");
  await server.call("GET", "/api/v1/namespaces", undefined, { token: used });
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByLabel("Token", { exact: true }).waitFor();
  await assert.rejects(server.call("GET", "/api/v1/namespaces", undefined, { token: used }), { code: 401 });
  assert.deepEqual([...page.wrong, ...second.wrong], []);
});

test("without a certificate the page says how to get one", async () => {
  const page = await browser.page();
  await page.goto(`${server.address}/explorer/`);
  await page.getByRole("button", { name: "Use my certificate" }).click();
  await page.getByRole("alert").filter({ hasText: "no client certificate" }).waitFor();
});

test("a user sees what the rights allow, and which right is missing", async () => {
  await server.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", { metadata: { name: "reader" }, rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }] });
  await server.create("/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", { metadata: { name: "reader" }, roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" }, subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "anna" }] });
  const page = await browser.page();
  await logIn(page, server, "#/objects/core/v1/configmaps?ns=default", annaToken);
  await page.getByRole("grid").getByText("kube-root-ca.crt").waitFor();
  await page.getByRole("complementary").getByText("Secret", { exact: true }).waitFor({ state: "detached" });
  assert.equal(await page.getByRole("link", { name: "Create" }).count(), 0);
  await page.goto(`${server.address}/explorer/#/objects/core/v1/secrets?ns=default`);
  await page.getByRole("alert").filter({ hasText: "verb “list” for “secrets”" }).waitFor();
  await picture(page, "refused");
});

test("without JavaScript the page says what it needs", async () => {
  const page = await browser.page({ javaScriptEnabled: false });
  await page.goto(`${server.address}/explorer/`);
  await page.locator("noscript p", { hasText: "needs JavaScript" }).waitFor();
});
