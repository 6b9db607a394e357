import { readConfig, type Config } from "../api/session";
import { replace } from "../route";

/** What has to outlive the way to the issuer and back. It holds no token, and is removed when it is read. */
const key = "capstan-explorer-oidc";

interface Trip {
  state: string;
  verifier: string;
  hash: string;
  tokenEndpoint: string;
  clientID: string;
  scopes: string[];
}

interface Issuer {
  authorization_endpoint: string;
  token_endpoint: string;
  scopes_supported?: string[];
}

/** home is the address to which the issuer sends the browser back. */
function home(): string {
  return new URL("./", document.baseURI).href;
}

/** Scopes that every issuer knows, by OpenID Connect Core. */
const standard = ["openid", "profile", "email"];

/** scopesFor are the wanted scopes that an issuer is asked for. Only a listed scope is sure to be known; issuers that list none are asked for the standard ones. */
export function scopesFor(wanted: string[], supported: string[] | undefined): string[] {
  return wanted.filter((s) => s === "openid" || (supported ?? standard).includes(s));
}

/** toIssuer leaves the page for the issuer's login. */
export async function toIssuer(oidc: NonNullable<Config["oidc"]>): Promise<void> {
  await leave(oidc, oidc.scopes, location.hash);
}

async function leave(oidc: NonNullable<Config["oidc"]>, wanted: string[], hash: string): Promise<void> {
  const answer = await fetch(`${oidc.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, { credentials: "omit" }).catch(() => undefined);
  if (!answer?.ok) throw new Error(`The issuer ${oidc.issuer} does not answer this page. It has to allow requests of ${location.origin} (CORS).`);
  const issuer = (await answer.json()) as Issuer;
  const trip: Trip = { state: random(), verifier: random(), hash, tokenEndpoint: issuer.token_endpoint, clientID: oidc.clientID, scopes: scopesFor(wanted, issuer.scopes_supported) };
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(trip.verifier));
  sessionStorage.setItem(key, JSON.stringify(trip));
  const query = new URLSearchParams({
    response_type: "code", client_id: oidc.clientID, redirect_uri: home(), scope: trip.scopes.join(" "), state: trip.state,
    code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: "S256",
  });
  location.assign(`${issuer.authorization_endpoint}?${query.toString()}`);
}

/**
 * fromIssuer finishes the login when the issuer has sent the browser back; undefined when it has not. An issuer may list
 * scopes that it refuses to this client: then the login begins again without the last one.
 */
export async function fromIssuer(): Promise<string | undefined> {
  const query = new URLSearchParams(location.search);
  const kept = sessionStorage.getItem(key);
  if (!kept || !query.has("state")) return undefined;
  sessionStorage.removeItem(key);
  const trip = JSON.parse(kept) as Trip;
  replace(location.pathname + trip.hash);
  if (query.get("state") !== trip.state) throw new Error("The issuer's answer belongs to another login. Begin again.");
  if (query.get("error") === "invalid_scope" && trip.scopes.length > 1) {
    const { oidc } = await readConfig();
    if (oidc) await leave(oidc, trip.scopes.slice(0, -1), trip.hash);
    return undefined;
  }
  const code = query.get("code");
  if (!code) throw new Error(`The issuer refused the login: ${query.get("error_description") ?? query.get("error") ?? "without a reason"}`);
  const body = new URLSearchParams({ grant_type: "authorization_code", code, redirect_uri: home(), client_id: trip.clientID, code_verifier: trip.verifier });
  const answer = await fetch(trip.tokenEndpoint, { method: "POST", body, credentials: "omit" });
  const { id_token: token, error_description: why } = (await answer.json()) as { id_token?: string; error_description?: string };
  if (!token) throw new Error(`The issuer gave no ID token: ${why ?? `code ${answer.status}`}`);
  return token;
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
