import { useRef, useState } from "preact/hooks";
import { aborted } from "../api/client";
import { apiVersion, discoverSoon, type Kind, makesKinds } from "../api/discovery";
import type { KubeObject, Value } from "../api/types";
import { address } from "../objects/view";
import { Failure, Notice, toast } from "../parts/notice";
import { toText, withoutOwners } from "../parts/source";
import { useLoad } from "../parts/load";
import { go } from "../route";
import type { Objection } from "./assist";
import { drafts, useDraft } from "./drafts";
import { exampleOf } from "./example";
import { create, objectionsOf } from "./save";
import { loadSchema, template } from "./schema";
import { Objections, TextBox, useBox } from "./textbox";

/** Create makes a new object, beginning with the fields that its kind requires. */
export function Create({ kind, namespace }: { kind: Kind; namespace: string }) {
  const at = kind.namespaced ? namespace || "default" : "";
  const begin = useLoad(async () => {
    const example = exampleOf(kind);
    if (example) return example;
    const head: Record<string, Value> = { apiVersion: apiVersion(kind), kind: kind.kind, metadata: at ? { name: "", namespace: at } : { name: "" } };
    return toText(template(await loadSchema(kind).catch(() => undefined), head));
  }, [kind, at]);
  if (begin.value === undefined) return <main class="page"><Failure error={begin.error} /><p class="soft" role="status">Reading the schema…</p></main>;
  return <Form kind={kind} namespace={at} begin={begin.value} />;
}

function Form({ kind, namespace, begin }: { kind: Kind; namespace: string; begin: string }) {
  const id = `new ${apiVersion(kind)} ${kind.resource}`;
  const { box, schema } = useBox(kind);
  const [text] = useState(() => drafts.get(id)?.text ?? begin);
  const [saved, setSaved] = useState(begin);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [objections, setObjections] = useState<Objection[]>([]);
  const [preview, setPreview] = useState<string>();
  const sending = useRef(false);
  useDraft(id, box, saved);
  const answer = (list: Objection[]) => {
    setObjections(list);
    box.refuse(list);
  };
  const send = async (dry: boolean) => {
    if (sending.current) return;
    sending.current = true;
    setBusy(true);
    setError(undefined);
    setPreview(undefined);
    let value: Value = null;
    try {
      value = box.object().value;
      const metadata = (value as { metadata?: { namespace?: string } }).metadata;
      const stored: KubeObject = await create(kind, metadata?.namespace ?? namespace, value as Record<string, Value>, dry);
      answer([]);
      if (dry) {
        setPreview(toText(withoutOwners(stored)));
        return;
      }
      setSaved(box.read());
      if (makesKinds(kind)) void discoverSoon();
      toast(`Created ${kind.kind} ${stored.metadata.name}`);
      go(address(kind, { namespace: stored.metadata.namespace ?? "", name: stored.metadata.name ?? "" }));
    } catch (e) {
      if (aborted(e)) return;
      setError(e);
      answer(objectionsOf(e, value));
    } finally {
      sending.current = false;
      setBusy(false);
    }
  };
  return (
    <main class="page">
      <h1>New {kind.kind}</h1>
      <TextBox box={box} schema={schema} text={text} label={`New ${kind.kind}`} />
      <Objections box={box} list={objections} />
      <Failure error={error} />
      {preview !== undefined && <><Notice kind="good">The server would store this:</Notice><pre class="terminal" tabIndex={0}>{preview}</pre></>}
      <div class="row">
        <button type="button" disabled={busy} onClick={() => void send(true)}>Preview</button>
        <button type="button" class="primary" disabled={busy} onClick={() => void send(false)}>{busy ? "Waiting…" : "Create"}</button>
        <button type="button" class="quiet" disabled={busy} onClick={() => { box.write(begin); answer([]); setPreview(undefined); setError(undefined); }}>Discard changes</button>
      </div>
    </main>
  );
}
