import { signal } from "@preact/signals";
import { Refusal, Unreachable, readRefusal } from "./status";
import type { Value } from "./types";

/** The token is only in memory: a closed or reloaded page has forgotten it. */
let token: string | undefined;

/** loginNeeded is true while requests wait for a new login, because the server refused the old one. */
export const loginNeeded = signal(false);
let waiting: (() => void)[] = [];

/** useToken is the token of all further requests; undefined for none, as with client certificates. */
export function useToken(next: string | undefined): void {
  token = next;
}

/** currentToken is for the few requests that cannot have a header: those of web sockets. */
export function currentToken(): string | undefined {
  return token;
}

/** resumeRequests sends those requests again that waited for a login. */
export function resumeRequests(): void {
  loginNeeded.value = false;
  const resume = waiting;
  waiting = [];
  for (const go of resume) go();
}

export interface Call {
  method?: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  accept?: string;
  type?: string;
  body?: Value | object | string;
  query?: Record<string, string | number | boolean | undefined>;
  signal?: AbortSignal;
  cache?: RequestCache;
  /** token instead of that of the login; its refusal is an error, and not a reason to ask for a login. */
  token?: string;
  /** probe: a refused login is an error, and not a reason to ask for one. */
  probe?: boolean;
}

/** send sends a request and returns the answer, whose body is not read. */
export async function send(path: string, call: Call = {}): Promise<Response> {
  for (;;) {
    const answer = await attempt(path, call);
    if (answer.ok) return answer;
    if (answer.status !== 401 || call.probe || call.token !== undefined) throw await readRefusal(answer);
    // Refused before it had an effect: the request may be sent again after the login.
    loginNeeded.value = true;
    await new Promise<void>((resolve, reject) => {
      waiting.push(resolve);
      call.signal?.addEventListener("abort", () => reject(call.signal!.reason as Error), { once: true });
    });
  }
}

async function attempt(path: string, call: Call): Promise<Response> {
  const headers = new Headers({ Accept: call.accept ?? "application/json" });
  const bearer = call.token ?? token;
  if (bearer) headers.set("Authorization", `Bearer ${bearer}`);
  let body: string | undefined;
  if (call.body !== undefined) {
    headers.set("Content-Type", call.type ?? "application/json");
    body = typeof call.body === "string" ? call.body : JSON.stringify(call.body);
  }
  try {
    return await fetch(path + search(call.query), {
      method: call.method ?? "GET", headers, body, signal: call.signal, credentials: "same-origin", cache: call.cache ?? "no-store", redirect: "error",
    });
  } catch (error) {
    if (call.signal?.aborted) throw error;
    throw new Unreachable();
  }
}

function search(query: Call["query"]): string {
  const pairs = Object.entries(query ?? {}).filter(([, v]) => v !== undefined && v !== "");
  return pairs.length ? "?" + new URLSearchParams(pairs.map(([k, v]) => [k, String(v)])).toString() : "";
}

/** json sends a request and reads its answer. */
export async function json<T>(path: string, call: Call = {}): Promise<T> {
  const answer = await send(path, call);
  try {
    return (await answer.json()) as T;
  } catch (error) {
    if (call.signal?.aborted) throw error;
    throw new Unreachable();
  }
}

/** text sends a request and reads its answer as a text. */
export async function text(path: string, call: Call = {}): Promise<string> {
  return (await send(path, { accept: "*/*", ...call })).text();
}

/** aborted tells the end that the page itself has wished from all other errors. */
export function aborted(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** is tells whether an error is a refusal for a reason. */
export function is(error: unknown, reason: string): error is Refusal {
  return error instanceof Refusal && error.reason === reason;
}
