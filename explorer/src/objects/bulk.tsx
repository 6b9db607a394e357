import { useState } from "preact/hooks";
import { json } from "../api/client";
import { type Kind, pathOf } from "../api/discovery";
import { explain } from "../api/status";
import type { KubeObject } from "../api/types";
import { Dialog } from "../parts/dialog";
import { useBusy } from "../parts/load";
import { Failure, Notice } from "../parts/notice";
import { VirtualTable } from "../parts/table";
import type { Row } from "./rows";

export type Action = "delete" | "label" | "annotate";

interface Outcome {
  row: Row;
  good: boolean;
  text: string;
}

const titles: Record<Action, string> = { delete: "Delete", label: "Label", annotate: "Annotate" };

/** Bulk does one thing to several objects. The server is asked before what would happen to each (a dry run). */
export function Bulk({ action, kind, rows, close }: { action: Action; kind: Kind; rows: Row[]; close: (done: boolean) => void }) {
  const [pairs, setPairs] = useState("");
  const [preview, setPreview] = useState<Outcome[]>();
  const [done, setDone] = useState<Outcome[]>();
  const [progress, setProgress] = useState(0);
  const [busy, run, error] = useBusy();
  const perform = (dry: boolean, on: Row[]) => run(async () => {
    const change = action === "delete" ? undefined : patch(action, pairs);
    setProgress(0);
    const outcomes = await each(on, (row) => act(kind, row, change, dry), setProgress);
    if (dry) setPreview(outcomes);
    else setDone(outcomes);
  });
  const possible = preview?.filter((o) => o.good).map((o) => o.row) ?? [];
  const what = rows.length === 1 ? `${kind.kind} ${rows[0]!.name}` : `${rows.length} objects (${kind.resource})`;
  return (
    <Dialog title={`${titles[action]} ${what}`} close={() => close(!!done)} wide>
      {action !== "delete" && !done && (
        <form class="stack" onSubmit={(e) => { e.preventDefault(); perform(true, rows); }}>
          <label for="pairs">Changes: <code>key=value</code> sets, <code>key-</code> removes; separated by spaces</label>
          <input id="pairs" value={pairs} autofocus spellcheck={false} autocomplete="off" onInput={(e) => { setPairs(e.currentTarget.value); setPreview(undefined); }} />
        </form>
      )}
      {action === "delete" && !preview && <p>{rows.slice(0, 10).map((r) => r.name).join(", ")}{rows.length > 10 ? ` and ${rows.length - 10} more` : ""}</p>}
      <Failure error={error} />
      {busy && <progress max={rows.length} value={progress} aria-label="Requests answered" />}
      {(done ?? preview) && <Outcomes list={(done ?? preview)!} />}
      {done && <Notice kind={done.every((o) => o.good) ? "good" : "warn"}>{done.filter((o) => o.good).length} of {done.length} done.</Notice>}
      <div class="row">
        {!done && <button type="button" disabled={busy || (action !== "delete" && !pairs.trim())} class={preview ? "" : "primary"} autofocus={action === "delete"} onClick={() => perform(true, rows)}>Preview</button>}
        {!done && preview && <button type="button" class={action === "delete" ? "danger" : "primary"} disabled={busy || !possible.length} onClick={() => perform(false, possible)}>{titles[action]} {possible.length}</button>}
        <button type="button" onClick={() => close(!!done)}>{done ? "Close" : "Cancel"}</button>
      </div>
    </Dialog>
  );
}

function Outcomes({ list }: { list: Outcome[] }) {
  const columns = [
    { title: "Object", cell: (o: Outcome) => (o.row.namespace ? `${o.row.namespace}/${o.row.name}` : o.row.name) },
    { title: "What happens", width: "minmax(16rem, 2fr)", cell: (o: Outcome) => <span class={o.good ? "" : "bad-text"} title={o.text}>{o.text}</span> },
  ];
  return <div class="outcomes"><VirtualTable label="What happens" rows={list} columns={columns} rowKey={(o) => o.row.key} /></div>;
}

/** patch makes a merge patch of pairs. */
function patch(action: Action, pairs: string): object {
  const values: Record<string, string | null> = {};
  for (const pair of pairs.trim().split(/\s+/)) {
    const at = pair.indexOf("=");
    if (at > 0) values[pair.slice(0, at)] = pair.slice(at + 1);
    else if (pair.endsWith("-") && pair.length > 1) values[pair.slice(0, -1)] = null;
    else throw new Error(`“${pair}” is neither key=value nor key-.`);
  }
  return { metadata: { [action === "label" ? "labels" : "annotations"]: values } };
}

async function act(kind: Kind, row: Row, change: object | undefined, dry: boolean): Promise<Outcome> {
  const path = pathOf(kind, row.namespace, row.name);
  const query = { dryRun: dry ? "All" : undefined, fieldManager: change ? "capstan-explorer" : undefined };
  try {
    if (change) {
      await json<KubeObject>(path, { method: "PATCH", type: "application/merge-patch+json", body: change, query });
      return { row, good: true, text: dry ? "would be changed" : "changed" };
    }
    const body = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background", preconditions: row.uid ? { uid: row.uid } : undefined };
    const answer = await json<KubeObject>(path, { method: "DELETE", body, query });
    const waits = answer.kind !== "Status" && answer.metadata.finalizers?.length ? `; waits for ${answer.metadata.finalizers.join(", ")}` : "";
    return { row, good: true, text: (dry ? "would be deleted" : "deleted") + waits };
  } catch (error) {
    return { row, good: false, text: explain(error) };
  }
}

/** each runs at most six requests at a time. */
async function each(rows: Row[], ask: (row: Row) => Promise<Outcome>, progress: (n: number) => void): Promise<Outcome[]> {
  const out: Outcome[] = new Array<Outcome>(rows.length);
  let next = 0;
  let answered = 0;
  const work = async () => {
    while (next < rows.length) {
      const i = next++;
      out[i] = await ask(rows[i]!);
      progress(++answered);
    }
  };
  await Promise.all(Array.from({ length: 6 }, work));
  return out;
}
