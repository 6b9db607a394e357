import { aborted, send, json } from "./client";
import { lines } from "./lines";
import { Refusal, Unreachable } from "./status";
import type { Status } from "./types";

export interface WatchEvent<T> {
  type: "ADDED" | "MODIFIED" | "DELETED";
  object: T;
}

/** Change is what a followed list goes through. */
export type Change<L, T> =
  | { is: "page"; list: L; first: boolean; last: boolean } // a first page begins the list anew
  | { is: "events"; events: WatchEvent<T>[] }
  | { is: "live" }
  | { is: "broken"; error: Error }; // the watch goes on when the server is back

interface Listed {
  metadata?: { resourceVersion?: string; continue?: string };
}

export interface Follow {
  accept?: string;
  query?: Record<string, string | undefined>;
  limit?: number;
  once?: boolean; // the kind cannot be watched
  signal: AbortSignal;
}

/**
 * follow lists and then watches, for as long as the signal lets it. Lists come in pages. A broken watch resumes at
 * the last resourceVersion that it has seen; when the server has forgotten that one, the list begins anew. The first
 * list's refusal is an error; so is that of a watch whose resource has gone.
 */
export async function* follow<L extends Listed, T>(path: string, how: Follow): AsyncGenerator<Change<L, T>> {
  let version: string | undefined;
  let failures = 0;
  while (!how.signal.aborted) {
    try {
      if (version === undefined) {
        for await (const page of pages<L>(path, how)) {
          version = page.list.metadata?.resourceVersion ?? "";
          yield page;
        }
      }
      if (how.once) {
        yield { is: "live" };
        return;
      }
      for await (const batch of watchFrom<T>(path, version ?? "", how)) {
        if (failures > 0 || batch.begins) yield { is: "live" };
        failures = 0;
        version = batch.version ?? version;
        if (batch.events.length) yield { is: "events", events: batch.events };
      }
    } catch (error) {
      if (how.signal.aborted || aborted(error)) return;
      if (error instanceof Refusal && error.code === 410) {
        version = undefined;
        continue;
      }
      if (!passing(error)) throw error;
      yield { is: "broken", error: error as Error };
      await pause(patience(failures++), how.signal);
    }
  }
}

/** patience is the time before the next attempt, after so many that failed. */
export function patience(failures: number): number {
  return Math.min(500 * 2 ** failures, 15_000);
}

/** passing tells whether the same request may succeed later. */
export function passing(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof Refusal && (error.code === 429 || error.code >= 500)) || error instanceof TypeError;
}

async function* pages<L extends Listed>(path: string, how: Follow): AsyncGenerator<{ is: "page"; list: L; first: boolean; last: boolean }> {
  let next: string | undefined;
  do {
    const list = await json<L>(path, { accept: how.accept, signal: how.signal, query: { ...how.query, limit: how.limit ?? 500, continue: next } });
    const first = next === undefined;
    next = list.metadata?.continue || undefined;
    yield { is: "page", list, first, last: next === undefined };
  } while (next);
}

interface Batch<T> {
  events: WatchEvent<T>[];
  version?: string;
  begins: boolean;
}

/** watchFrom yields what comes in one connection, gathered over a tenth of a second. */
export async function* watchFrom<T>(path: string, version: string, how: Follow): AsyncGenerator<Batch<T>> {
  const query = { ...how.query, watch: "true", allowWatchBookmarks: "true", resourceVersion: version };
  const answer = await send(path, { accept: how.accept, signal: how.signal, query });
  yield { events: [], begins: true };
  if (!answer.body) return;
  const queue: string[] = [];
  let ended = false;
  let failed: unknown;
  let wake: () => void = () => undefined;
  const read = (async () => {
    for await (const line of lines(answer.body!)) {
      queue.push(line);
      wake();
    }
  })().catch((error: unknown) => { failed = error; }).finally(() => { ended = true; wake(); });
  while (!ended || queue.length) {
    if (!queue.length) await new Promise<void>((resolve) => { wake = resolve; });
    if (!ended) await pause(100, how.signal);
    if (queue.length) yield parse<T>(queue.splice(0, 2000));
  }
  await read;
  if (failed && !aborted(failed)) throw new Unreachable();
}

function parse<T>(texts: string[]): Batch<T> {
  const batch: Batch<T> = { events: [], begins: false };
  for (const text of texts) {
    if (!text) continue;
    const { type, object } = JSON.parse(text) as { type: string; object: Versioned };
    if (type === "ERROR") throw new Refusal(object as Status);
    batch.version = versionOf(object) ?? batch.version;
    if (type !== "BOOKMARK") batch.events.push({ type: type as WatchEvent<T>["type"], object: object as T });
  }
  return batch;
}

interface Versioned {
  metadata?: { resourceVersion?: string };
  rows?: { object?: Versioned }[];
}

/** versionOf is where a watch resumes. In tables the rows' objects have it. */
function versionOf(object: Versioned): string | undefined {
  return object.rows?.at(-1)?.object?.metadata?.resourceVersion ?? (object.metadata?.resourceVersion || undefined);
}

/** pause waits, until the signal ends the wait. */
export function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}
