import { signal } from "@preact/signals";
import { currentToken, json, loginNeeded, resumeRequests, send, useToken } from "./client";
import { discover, forgetKinds } from "./discovery";
import { forgetRights } from "./rights";
import { Refusal } from "./status";
import type { KubeObject, SelfSubjectReview, TokenRequest } from "./types";

export interface Session {
  user: string;
  groups: string[];
  way: "token" | "link" | "certificate" | "oidc";
}

/** session is the login; null for none. */
export const session = signal<Session | null>(null);

/** How a session of a link ends: its secret is deleted. */
let bound: Bound | undefined;
let renewal: ReturnType<typeof setTimeout> | undefined;

interface Bound {
  namespace: string;
  account: string;
  secret: string;
}

/** Config is what the server says about itself to everybody. */
export interface Config {
  version: string;
  oidc: { issuer: string; clientID: string; scopes: string[] } | null;
}

/** readConfig reads it. */
export function readConfig(): Promise<Config> {
  return json<Config>(new URL("config.json", document.baseURI).pathname, { probe: true });
}

/** logIn begins a session with a token, or with what the browser sends by itself (a certificate). */
export async function logIn(token: string | undefined, way: Session["way"]): Promise<void> {
  const user = await whoAmI(token);
  if (!user.name || user.name === "system:anonymous") {
    throw new Error(way === "certificate"
      ? "The browser sent no client certificate that the server knows. Import one (capstan kubeconfig makes it), reload the page, and choose it when the browser asks."
      : "The server does not know this token. It may have ended: make a new one with capstan token create or kubectl create token.");
  }
  begin(token, { user: user.name, groups: user.groups, way });
}

function begin(token: string | undefined, next: Session): void {
  if (session.value && session.value.user !== next.user) forgetRights();
  useToken(token);
  session.value = next;
  if (loginNeeded.value) resumeRequests();
  else discover().catch(() => undefined); // views say what is wrong
}

async function whoAmI(token: string | undefined): Promise<{ name: string; groups: string[] }> {
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  try {
    const { status } = await json<SelfSubjectReview>("/apis/authentication.k8s.io/v1/selfsubjectreviews", { method: "POST", body, token: token ?? "", probe: true });
    return { name: status?.userInfo?.username ?? "", groups: status?.userInfo?.groups ?? [] };
  } catch (error) {
    if (error instanceof Refusal && token === undefined && (error.code === 401 || error.code === 403)) return { name: "", groups: [] };
    if (error instanceof Refusal && error.code === 404) return anybody(token);
    if (error instanceof Refusal && error.code === 401) throw new Error("The server refuses this login: the token is wrong, or it has ended. Make a new one and try again.");
    throw error;
  }
}

/** anybody checks a login at servers that cannot say whose it is. */
async function anybody(token: string | undefined): Promise<{ name: string; groups: string[] }> {
  await send("/apis", { token: token ?? "", probe: true });
  return { name: "a user of this server", groups: [] };
}

const sessionSeconds = 3600;

/** logInByLink exchanges the token of a one-time link for one of a session. */
export async function logInByLink(token: string): Promise<void> {
  const link = claims(token);
  const secret = link.secret.name.replace("explorer-link-", "explorer-session-");
  const next: Bound = { namespace: link.namespace, account: link.serviceaccount.name, secret };
  try {
    const mine = await sessionToken(next, token);
    await deleteLink(link, token).catch(async (error: unknown) => {
      if (error instanceof Refusal && error.code === 404) await deleteSecret(next, mine).catch(() => undefined);
      throw error;
    });
    await logIn(mine, "link");
    bound = next;
    renewLater();
  } catch (error) {
    if (error instanceof Refusal && (error.code === 401 || error.code === 404)) {
      throw new Error("This link was used before, or its ten minutes are over. Make a new one: capstan explorer");
    }
    throw error;
  }
}

function deleteLink(link: Claims, token: string): Promise<Response> {
  const body = { apiVersion: "v1", kind: "DeleteOptions", preconditions: { uid: link.secret.uid } };
  return send(`/api/v1/namespaces/${link.namespace}/secrets/${link.secret.name}`, { method: "DELETE", body, token });
}

/** sessionToken requests a token that ends with the session's secret, which is made if it is missing. */
async function sessionToken(at: Bound, token: string): Promise<string> {
  const request = () => json<TokenRequest>(`/api/v1/namespaces/${at.namespace}/serviceaccounts/${at.account}/token`, {
    method: "POST", token,
    body: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {
      expirationSeconds: sessionSeconds, boundObjectRef: { apiVersion: "v1", kind: "Secret", name: at.secret } } },
  });
  const answer = await request().catch(async (error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== 404) throw error;
    const metadata = { name: at.secret, namespace: at.namespace, labels: { "capstan-explorer": "session" } };
    await json<KubeObject>(`/api/v1/namespaces/${at.namespace}/secrets`, { method: "POST", token, body: { apiVersion: "v1", kind: "Secret", metadata } });
    return request();
  });
  if (!answer.status?.token) throw new Error("The server's answer has no token.");
  return answer.status.token;
}

/** renewLater gets the next token when three quarters of the time are over. */
function renewLater(): void {
  renewal = setTimeout(async () => {
    if (!bound) return;
    try {
      useToken(await sessionToken(bound, currentToken() ?? ""));
    } catch {
      return; // the next request asks for a login
    }
    renewLater();
  }, sessionSeconds * 750);
}

function deleteSecret(at: Bound, token?: string): Promise<Response> {
  return send(`/api/v1/namespaces/${at.namespace}/secrets/${at.secret}`, { method: "DELETE", token, probe: true });
}

/** logOut forgets the token. That of a link's session ends at the server too. */
export async function logOut(): Promise<void> {
  clearTimeout(renewal);
  const at = bound;
  bound = undefined;
  if (at) await deleteSecret(at).catch(() => undefined); // it ends by itself within the hour
  useToken(undefined);
  forgetKinds();
  forgetRights();
  session.value = null;
}

interface Claims {
  namespace: string;
  serviceaccount: { name: string };
  secret: { name: string; uid: string };
}

/** claims reads what a token says about itself. The server checks whether it is true. */
function claims(token: string): Claims {
  try {
    const payload = token.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/");
    const all = JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(payload), (c) => c.charCodeAt(0)))) as Record<string, Claims>;
    const own = all["kubernetes.io"];
    if (own?.namespace && own.serviceaccount.name && own.secret.name && own.secret.uid) return own;
  } catch {
    // The message below says what is wrong.
  }
  throw new Error("This link is not complete. Copy all of it, or make a new one: capstan explorer");
}
