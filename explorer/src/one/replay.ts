import { aborted, json, send } from "../api/client";
import { lines } from "../api/lines";
import { Refusal } from "../api/status";
import type { KubeObject, Status } from "../api/types";
import { passing, patience, pause, watchFrom } from "../api/watch";

/** State is the object at a moment. */
export interface State {
  object: KubeObject;
  what: string;
  gap?: boolean; // the server has forgotten what was between the state before and this one
}

interface Follower {
  signal: AbortSignal;
  add: (state: State) => void;
  broken: (is: boolean) => void;
}

const titles: Record<string, string> = { ADDED: "created", MODIFIED: "changed", DELETED: "deleted" };

/**
 * replay gives the oldest state that the server has, and those after it as a watch gives them. A watch that breaks resumes at the last
 * resourceVersion that it has seen; when the server has forgotten that one, the states go on at the oldest that it has.
 */
export async function replay(path: string, name: string, { signal, add, broken }: Follower): Promise<void> {
  const query = { fieldSelector: `metadata.name=${name}` };
  let version: string | undefined;
  let last: KubeObject | undefined;
  const show = (state: State) => {
    last = state.object;
    add(state);
  };
  for (let failures = 0; !signal.aborted;) {
    try {
      if (version === undefined) {
        const oldest = await oldestState(path, query, signal);
        version = oldest.version;
        if (oldest.object && oldest.object.metadata.resourceVersion !== last?.metadata.resourceVersion) show({ object: oldest.object, what: "as it was before", gap: !!last });
        else if (!oldest.object && last) show({ object: last, what: "deleted", gap: true });
      }
      for await (const batch of watchFrom<KubeObject>(path, version, { query, signal })) {
        failures = 0;
        broken(false);
        version = batch.version ?? version;
        for (const { type, object } of batch.events) show({ object, what: titles[type] ?? type });
      }
    } catch (error) {
      if (signal.aborted || aborted(error)) return;
      if (error instanceof Refusal && error.code === 410) {
        version = undefined;
        await pause(patience(0), signal);
        continue;
      }
      if (!passing(error)) throw error;
      broken(true);
      await pause(patience(failures++), signal);
    }
  }
}

type Query = Record<string, string>;

/** oldestState is the object in the oldest version that the server has; none if there was no such object. */
async function oldestState(path: string, query: Query, signal: AbortSignal): Promise<{ version: string; object?: KubeObject }> {
  for (let tries = 0; ; tries++) {
    const version = await oldestVersion(path, query, signal);
    try {
      const { items } = await json<{ items: KubeObject[] }>(path, { query: { ...query, resourceVersion: version, resourceVersionMatch: "Exact" }, signal });
      return { version, object: items[0] };
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 410 || tries > 3) throw error; // the server has just forgotten it
    }
  }
}

/** oldestVersion asks for the first version. The refusal names the oldest that the server has. */
async function oldestVersion(path: string, query: Query, signal: AbortSignal): Promise<string> {
  const answer = await send(path, { query: { ...query, watch: "true", resourceVersion: "1", timeoutSeconds: 1 }, signal }).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 410) return error;
    throw error;
  });
  let message = answer instanceof Refusal ? answer.message : "";
  if (!(answer instanceof Refusal)) {
    for await (const line of lines(answer.body!)) {
      const { type, object } = JSON.parse(line) as { type: string; object: Status };
      if (type === "ERROR") message = object.message ?? "";
      break;
    }
  }
  return /\((\d+)\)/.exec(message)?.[1] ?? "1";
}
