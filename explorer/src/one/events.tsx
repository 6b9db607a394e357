import { useEffect, useState } from "preact/hooks";
import { findResource, pathOf } from "../api/discovery";
import type { Event, KubeObject } from "../api/types";
import { follow } from "../api/watch";
import { when } from "../parts/age";
import { Failure } from "../parts/notice";
import { Plain } from "../parts/plain";

interface List {
  metadata: { resourceVersion?: string };
  items: Event[];
}

/** EventsTab lists the events of the object as they come. */
export function EventsTab({ object }: { object: KubeObject }) {
  const [events, set] = useState<Map<string, Event>>();
  const [error, setError] = useState<unknown>();
  const { uid, namespace } = object.metadata;
  useEffect(() => {
    const end = new AbortController();
    keep(uid ?? "", namespace ?? "", end.signal, set).catch((e: unknown) => { if (!end.signal.aborted) setError(e); });
    return () => end.abort();
  }, [uid]);
  if (error) return <Failure error={error} />;
  const list = [...(events?.values() ?? [])].sort((a, b) => timeOf(b).localeCompare(timeOf(a)));
  if (events && !list.length) return <p class="soft" role="status">No events in the last hour. The server forgets them after that.</p>;
  return (
    <Plain label="Events" heads={["When", "Type", "Reason", "From", "Message"]}>
      {list.map((e) => (
        <tr key={e.metadata.uid}>
          <td>{when(timeOf(e))}{(e.count ?? 0) > 1 && ` ×${e.count}`}</td>
          <td class={e.type === "Warning" ? "warn-text" : ""}>{e.type}</td>
          <td>{e.reason}</td>
          <td>{e.source?.component || e.reportingComponent}</td>
          <td class="wrap">{e.message}</td>
        </tr>
      ))}
    </Plain>
  );
}

function timeOf(e: Event): string {
  return e.series?.lastObservedTime ?? e.lastTimestamp ?? e.eventTime ?? e.metadata.creationTimestamp ?? "";
}

async function keep(uid: string, namespace: string, signal: AbortSignal, set: (all: Map<string, Event>) => void): Promise<void> {
  const kind = findResource("", "v1", "events");
  if (!kind) throw new Error("This server has no events.");
  const all = new Map<string, Event>();
  for await (const change of follow<List, Event>(pathOf(kind, namespace || "default"), { query: { fieldSelector: `involvedObject.uid=${uid}` }, signal })) {
    if (change.is === "page") {
      if (change.first) all.clear();
      for (const e of change.list.items) all.set(e.metadata.uid!, e);
    } else if (change.is === "events") {
      for (const { type, object } of change.events) {
        if (type === "DELETED") all.delete(object.metadata.uid!);
        else all.set(object.metadata.uid!, object);
      }
    } else continue;
    set(new Map(all));
  }
}
