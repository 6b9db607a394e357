import { useEffect, useState } from "preact/hooks";
import { json } from "../api/client";
import { type Kind, pathOf } from "../api/discovery";
import { Refusal } from "../api/status";
import type { KubeObject } from "../api/types";
import { follow, type WatchEvent } from "../api/watch";

export interface Watched {
  object?: KubeObject;
  deleted?: boolean;
  error?: unknown;
  broken?: boolean;
}

interface List {
  metadata: { resourceVersion?: string };
  items: KubeObject[];
}

/** useObject keeps one object as it is at the server. Users who may only get it see it as it was. */
export function useObject(kind: Kind, namespace: string, name: string): Watched {
  const [state, set] = useState<Watched>({});
  useEffect(() => {
    const end = new AbortController();
    set({});
    void keep(kind, namespace, name, end.signal, set);
    return () => end.abort();
  }, [kind.group, kind.version, kind.resource, namespace, name]);
  return state;
}

type StateUpdater = (change: Watched | ((w: Watched) => Watched)) => void;

async function keep(kind: Kind, namespace: string, name: string, signal: AbortSignal, set: StateUpdater): Promise<void> {
  try {
    set({ object: await json<KubeObject>(pathOf(kind, namespace, name), { signal }) });
    const query = { fieldSelector: `metadata.name=${name}` };
    for await (const change of follow<List, KubeObject>(pathOf(kind, namespace), { query, signal, once: !kind.verbs.includes("watch") })) {
      if (change.is === "page") {
        const object = change.list.items[0];
        const full = object && { apiVersion: kind.group ? `${kind.group}/${kind.version}` : kind.version, kind: kind.kind, ...object };
        set((w) => (!full ? { ...w, deleted: true } : w.object?.metadata.resourceVersion === full.metadata.resourceVersion ? w : { object: full }));
      } else if (change.is === "events") {
        for (const event of change.events) set(after(event));
      } else {
        set((w) => ({ ...w, broken: change.is === "broken" }));
      }
    }
  } catch (error) {
    const silent = error instanceof Refusal && error.code === 403;
    if (!signal.aborted) set((w) => (w.object && silent ? w : { ...w, error }));
  }
}

function after(event: WatchEvent<KubeObject>): Watched {
  return event.type === "DELETED" ? { object: event.object, deleted: true } : { object: event.object };
}
