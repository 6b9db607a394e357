import { useEffect, useMemo, useState } from "preact/hooks";
import { type Kind, pathOf } from "../api/discovery";
import type { KubeObject, ManagedFieldsEntry } from "../api/types";
import { when } from "../parts/age";
import { Diff } from "../parts/diff";
import { Failure, Notice } from "../parts/notice";
import { toText, withoutOwners } from "../parts/source";
import { Plain } from "../parts/plain";
import { replay, type State } from "./replay";

interface Props {
  kind: Kind;
  namespace: string;
  name: string;
}

/** HistoryTab shows the states of the object that the server still has, and what differs between two of them. */
export function HistoryTab(props: Props) {
  const { states, broken, error } = useHistory(props);
  const [picked, pick] = useState<{ from?: number; to?: number }>({});
  const to = picked.to ?? states.length - 1;
  const from = picked.from ?? Math.max(0, to - 1);
  const texts = useMemo(() => [from, to].map((i) => (states[i] ? toText(withoutOwners(states[i].object)) : "")), [states, from, to]);
  return (
    <div class="split">
      <div class="fill stack">
        <Failure error={error} />
        {broken && <Notice kind="warn">The connection is lost; the history goes on when the server is back.</Notice>}
        {states.some((s) => s.gap) && <Notice kind="warn">The connection was lost for longer than the server remembers: changes of that time are gone.</Notice>}
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
              <td>{s.gap && <span class="soft">changes before are gone<br /></span>}<span class="mono">{s.object.metadata.resourceVersion}</span> {s.what}<br /><span class="soft">{author(s.object, states[i - 1]?.object)}</span></td>
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

function useHistory({ kind, namespace, name }: Props): { states: State[]; broken: boolean; error: unknown } {
  const [states, set] = useState<State[]>([]);
  const [broken, setBroken] = useState(false);
  const [error, setError] = useState<unknown>();
  useEffect(() => {
    const end = new AbortController();
    set([]);
    const add = (s: State) => set((all) => [...all, s].slice(-200));
    replay(pathOf(kind, namespace), name, { signal: end.signal, add, broken: setBroken }).catch((e: unknown) => { if (!end.signal.aborted) setError(e); });
    return () => end.abort();
  }, [kind.group, kind.version, kind.resource, namespace, name]);
  return { states, broken, error };
}
