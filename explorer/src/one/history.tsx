import { useEffect, useMemo, useState } from "preact/hooks";
import { json, send } from "../api/client";
import { type Kind, pathOf } from "../api/discovery";
import { lines } from "../api/lines";
import { Refusal } from "../api/status";
import type { KubeObject, ManagedFieldsEntry, Status } from "../api/types";
import { when } from "../parts/age";
import { Diff } from "../parts/diff";
import { Failure } from "../parts/notice";
import { toText, withoutOwners } from "../parts/source";
import { Plain } from "../parts/plain";

interface State {
  object: KubeObject;
  what: string;
}

interface Props {
  kind: Kind;
  namespace: string;
  name: string;
}

/** HistoryTab shows the states of the object that the server still has, and what differs between two of them. */
export function HistoryTab(props: Props) {
  const { states, error } = useHistory(props);
  const [picked, pick] = useState<{ from?: number; to?: number }>({});
  const to = picked.to ?? states.length - 1;
  const from = picked.from ?? Math.max(0, to - 1);
  const texts = useMemo(() => [from, to].map((i) => (states[i] ? toText(withoutOwners(states[i].object)) : "")), [states, from, to]);
  return (
    <div class="split">
      <div class="fill stack">
        <Failure error={error} />
        {states.length < 2 && !error && <p class="soft" role="status">The object has not changed in the time that the server remembers. Changes appear here as they come.</p>}
        {states.length >= 2 && <Diff before={texts[0]!} after={texts[1]!} label="What changed" />}
      </div>
      <section class="legend" aria-label="States">
        <h2>States</h2>
        <Plain label="Recorded states" heads={["From", "To", "State"]}>
          {states.map((s, i) => (
            <tr key={s.object.metadata.resourceVersion + s.what}>
              <td><input type="radio" name="from" aria-label={`From ${s.object.metadata.resourceVersion}`} checked={i === from} onChange={() => pick({ ...picked, from: i, to })} /></td>
              <td><input type="radio" name="to" aria-label={`To ${s.object.metadata.resourceVersion}`} checked={i === to} onChange={() => pick({ from, to: i })} /></td>
              <td><span class="mono">{s.object.metadata.resourceVersion}</span> {s.what}<br /><span class="soft">{author(s.object, states[i - 1]?.object)}</span></td>
            </tr>
          ))}
        </Plain>
      </section>
    </div>
  );
}

/** author is the manager whose record is new since the state before; others may have lost fields by the same change. */
function author(object: KubeObject, before: KubeObject | undefined): string {
  const records = object.metadata.managedFields ?? [];
  const known = (name: (m: ManagedFieldsEntry) => string) => new Set((before?.metadata.managedFields ?? []).map(name));
  const stamps = known(stamp);
  const texts = known((m) => JSON.stringify(m));
  const last = records.find((m) => !stamps.has(stamp(m))) ?? records.find((m) => !texts.has(JSON.stringify(m)));
  return last ? `${last.manager}, ${when(last.time)}` : "";
}

function stamp(m: ManagedFieldsEntry): string {
  return [m.manager, m.operation, m.subresource, m.time].join(" ");
}

function useHistory({ kind, namespace, name }: Props): { states: State[]; error: unknown } {
  const [states, set] = useState<State[]>([]);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const end = new AbortController();
    set([]);
    replay(pathOf(kind, namespace), name, end.signal, (s) => set((all) => [...all, s].slice(-200)))
      .catch((e: unknown) => { if (!end.signal.aborted) setError(e); });
    return () => end.abort();
  }, [kind.group, kind.version, kind.resource, namespace, name]);
  return { states, error };
}

const titles: Record<string, string> = { ADDED: "created", MODIFIED: "changed", DELETED: "deleted" };

/** replay gives the oldest state that the server has, and those after it as a watch gives them. */
async function replay(path: string, name: string, signal: AbortSignal, add: (state: State) => void): Promise<void> {
  const fieldSelector = `metadata.name=${name}`;
  let oldest = await oldestVersion(path, fieldSelector, signal);
  for (let tries = 0; ; tries++) {
    try {
      const query = { fieldSelector, resourceVersion: oldest, resourceVersionMatch: "Exact" };
      const { items } = await json<{ items: KubeObject[] }>(path, { query, signal });
      if (items[0]) add({ object: items[0], what: "as it was before" });
      break;
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 410 || tries > 3) throw error;
      oldest = await oldestVersion(path, fieldSelector, signal); // the server has just forgotten it
    }
  }
  const answer = await send(path, { query: { fieldSelector, watch: "true", resourceVersion: oldest }, signal });
  for await (const line of lines(answer.body!)) {
    const { type, object } = JSON.parse(line) as { type: string; object: KubeObject };
    if (type === "ERROR") throw new Refusal(object as unknown as Status);
    add({ object, what: titles[type] ?? type });
  }
}

/** oldestVersion asks for the first version. The refusal names the oldest that the server has. */
async function oldestVersion(path: string, fieldSelector: string, signal: AbortSignal): Promise<string> {
  const answer = await send(path, { query: { fieldSelector, watch: "true", resourceVersion: "1", timeoutSeconds: 1 }, signal }).catch((error: unknown) => {
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
