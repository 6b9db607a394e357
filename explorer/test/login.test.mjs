import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { annaToken, Browser, logIn, picture, Server } from "./harness.mjs";
import { startIssuer } from "./issuer.mjs";

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

test("a link that is opened in a page with a login leaves the address at once, and counts when the user says so", async () => {
  const page = await browser.page();
  await logIn(page, server);
  const open = async (link) => {
    await page.evaluate((hash) => { location.hash = hash; }, new URL(link).hash);
    await page.getByRole("heading", { name: "Log in by the link?" }).waitFor();
    assert.ok(!page.url().includes("link="), "the address has the token");
  };
  await open(await server.link());
  await page.getByRole("button", { name: "Stay logged in" }).click();
  await page.getByText("admin", { exact: true }).waitFor();
  await open(await server.link());
  await page.getByRole("button", { name: "Use the link" }).click();
  await page.getByText("system:serviceaccount:kube-system:explorer").waitFor();
  assert.deepEqual(page.wrong, []);
});

test("without a certificate the page says how to get one", async () => {
  const page = await browser.page();
  await page.goto(`${server.address}/explorer/`);
  await page.getByRole("button", { name: "Use my certificate" }).click();
  await page.getByRole("alert").filter({ hasText: "no client certificate" }).waitFor();
});

test("a certificate of the browser logs in", async () => {
  const config = fs.readFileSync(path.join(server.dir, "data", "admin.kubeconfig"), "utf8");
  const part = (name) => Buffer.from(new RegExp(`${name}: "?([A-Za-z0-9+/=]+)`).exec(config)[1], "base64");
  const page = await browser.page({ clientCertificates: [{ origin: server.address, cert: part("client-certificate-data"), key: part("client-key-data") }] });
  await page.goto(`${server.address}/explorer/`);
  await page.getByRole("button", { name: "Use my certificate" }).click();
  await page.getByRole("button", { name: "Log out" }).waitFor();
});

// withIssuer starts a server whose users log in by an issuer.
async function withIssuer(t) {
  const own = await Server.start();
  t.after(() => own.remove());
  const pki = path.join(own.dir, "data", "pki");
  const issuer = await startIssuer(path.join(pki, "server.crt"), path.join(pki, "server.key"), "explorer", "anna");
  t.after(() => issuer.stop());
  own.flags = [`--oidc-issuer-url=${issuer.url}`, "--oidc-client-id=explorer", `--oidc-ca-file=${path.join(pki, "ca.crt")}`, "--oidc-username-prefix=-", "--oidc-groups-claim=groups"];
  await own.restart();
  return { own, issuer };
}

test("an issuer logs in by a code with PKCE, and leads back to the same place", async (t) => {
  const { own, issuer } = await withIssuer(t);
  issuer.supported = issuer.granted = ["openid", "email"];
  const page = await browser.page();
  await page.goto(`${own.address}/explorer/#/objects/core/v1/configmaps?ns=default`);
  await page.getByRole("button", { name: /Log in with 127/ }).click();
  await page.locator(".user", { hasText: "anna" }).waitFor();
  await page.getByRole("alert").filter({ hasText: "verb “list” for “configmaps”" }).waitFor();
  assert.ok(!page.url().includes("code="), page.url());
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  assert.equal(kept, "[{},{}]");
  assert.deepEqual(issuer.asked, ["openid email"]);
  assert.deepEqual(page.wrong, []);
});

test("an issuer is asked for the scopes that it knows, and without those that it refuses", async (t) => {
  const { own, issuer } = await withIssuer(t);
  const all = ["openid", "email", "profile", "groups"];
  for (const [what, supported, granted, asked] of [
    ["lists groups, and gives them", all, all, ["openid email profile groups"]],
    ["lists no scopes, and refuses groups", undefined, all.slice(0, 3), ["openid email profile"]],
    ["lists groups, and refuses them to this client", all, all.slice(0, 3), ["openid email profile groups", "openid email profile"]],
    ["forgets to list openid, and has nothing else", [], ["openid"], ["openid"]],
  ]) {
    Object.assign(issuer, { supported, granted, asked: [] });
    const page = await browser.page();
    await page.goto(`${own.address}/explorer/`);
    await page.getByRole("button", { name: /Log in with 127/ }).click();
    await page.locator(".user", { hasText: "anna" }).waitFor();
    assert.deepEqual(issuer.asked, asked, what);
    await page.context().close();
  }
  issuer.granted = [];
  const page = await browser.page();
  await page.goto(`${own.address}/explorer/`);
  await page.getByRole("button", { name: /Log in with 127/ }).click();
  await page.getByRole("alert").filter({ hasText: "refused the login: invalid_scope" }).waitFor();
  assert.deepEqual(page.wrong, []);
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

test("the page works over a slow link", async () => {
  const page = await browser.page();
  const link = await page.context().newCDPSession(page);
  await link.send("Network.enable");
  await link.send("Network.emulateNetworkConditions", { offline: false, latency: 400, downloadThroughput: 50_000, uploadThroughput: 20_000 });
  const begin = Date.now();
  await page.goto(`${server.address}/explorer/#/objects/core/v1/namespaces`);
  await page.getByLabel("Token", { exact: true }).waitFor();
  const shown = Date.now() - begin;
  await logIn(page, server);
  await page.getByRole("grid").getByText("kube-system").waitFor({ timeout: 30_000 });
  console.log(`# 50 kB/s, 400 ms: the login after ${shown} ms, the first table after ${Date.now() - begin} ms`);
  const bytes = await page.evaluate(() => performance.getEntriesByType("resource").filter((e) => e.name.includes("/explorer/")).reduce((n, e) => n + e.transferSize, 0));
  assert.ok(bytes < 100_000, `the page needs ${bytes} bytes before its first table`);
  assert.deepEqual(page.wrong, []);
});
