import { useMemo, useRef, useState } from "preact/hooks";
import { json, aborted } from "../api/client";
import { type Kind, pathOf } from "../api/discovery";
import { Refusal } from "../api/status";
import type { KubeObject, Value } from "../api/types";
import { Diff } from "../parts/diff";
import { Failure, Notice, toast } from "../parts/notice";
import { showPath, toText, withoutOwners } from "../parts/source";
import { configuration, equal } from "./apply";
import type { Objection } from "./assist";
import { Clashes } from "./clashes";
import { drafts, useDraft } from "./drafts";
import { at, type Clash, merge, put } from "./merge";
import { apply, conflictsOf, objectionsOf, othersOf, replace, type Target } from "./save";
import { Objections, TextBox, useBox } from "./textbox";

type Fields = Record<string, Value>;

interface Question {
  kind: "owners" | "change";
  clashes: Clash[];
  theirs?: KubeObject;
  value: Value;
}

interface Props {
  object: KubeObject;
  deleted: boolean;
  kind: Kind;
  target: Target;
}

/** EditTab changes an object. */
export function EditTab({ object, deleted, kind, target }: Props) {
  const id = object.metadata.uid ?? "";
  const [base, setBase] = useState(() => drafts.get(id)?.base ?? object);
  const original = useMemo(() => toText(withoutOwners(base)), [base]);
  const [text, setText] = useState(() => drafts.get(id)?.text ?? original);
  const [way, setWay] = useState<"apply" | "replace">("apply");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [preview, setPreview] = useState<string>();
  const [removed, setRemoved] = useState<string[]>([]);
  const [others, setOthers] = useState<string[]>([]);
  const [objections, setObjections] = useState<Objection[]>([]);
  const [question, ask] = useState<Question>();
  const sending = useRef(false);
  const { box, schema } = useBox(kind);

  useDraft(id, box, original, base);

  const settle = (stored: KubeObject) => {
    drafts.delete(id);
    setBase(stored);
    const next = toText(withoutOwners(stored));
    setText(next);
    box.write(next);
    setPreview(undefined);
    setRemoved([]);
    toast(`Saved ${kind.kind} ${target.name}`);
  };

  const send = async (dry: boolean, force = false) => {
    if (sending.current) return;
    sending.current = true;
    setBusy(true);
    setError(undefined);
    setPreview(undefined);
    setOthers([]);
    try {
      const value = box.object().value as Fields;
      try {
        const config = way === "apply" ? configuration(base, value, schema) : undefined;
        setRemoved(config?.removed.map(showPath) ?? []);
        const stored = config ? await applied(config.body, value, dry, force) : await replace(target, value, base.metadata.resourceVersion, dry);
        answer([]);
        if (dry) setPreview(toText(withoutOwners(stored)));
        else settle(stored);
      } catch (e) {
        await refused(e, value);
      }
    } catch (e) {
      if (!aborted(e)) setError(e);
    } finally {
      sending.current = false;
      setBusy(false);
    }
  };

  /** applied asks about the fields of others at the save only: a preview names them. Fields that the page itself has set, by a create or a replace, are no question. */
  const applied = (body: Fields, value: Fields, dry: boolean, force: boolean) => apply(target, body, dry, force).catch((e: unknown) => {
    const owners = othersOf(e, value);
    if (!owners.length && conflictsOf(e, value).length) return apply(target, body, dry, true);
    if (!owners.length || !dry) throw e;
    setOthers(owners.map((c) => `${showPath(c.path)} (${c.owner})`));
    return apply(target, body, true, true);
  });

  const answer = (list: Objection[]) => {
    setObjections(list);
    box.refuse(list);
  };

  const refused = async (e: unknown, value: Fields) => {
    const owners = othersOf(e, value);
    if (owners.length) {
      ask({ kind: "owners", value, clashes: owners.map((c) => ({ ...c, yours: at(value, c.path), theirs: at(object as unknown as Value, c.path) })) });
      return;
    }
    if (e instanceof Refusal && e.code === 409) {
      join(await json<KubeObject>(pathOf(kind, target.namespace, target.name)));
      return;
    }
    answer(objectionsOf(e, value));
    throw e;
  };

  /** join brings another's change into the text; fields that both changed are a question. */
  const join = (theirs: KubeObject) => {
    const merged = merge(withoutOwners(base) as unknown as Value, box.object().value, withoutOwners(theirs) as unknown as Value, schema);
    if (merged.clashes.length) {
      ask({ kind: "change", clashes: merged.clashes, theirs, value: merged.value });
    } else {
      adopt(theirs, merged.value);
    }
  };

  const adopt = (theirs: KubeObject, value: Value) => {
    setBase(theirs);
    const next = toText(value);
    setText(next);
    box.write(next);
    setPreview(undefined);
    toast("The other change is in your text now. Look at it, then save.");
  };

  const decide = ({ kind: what, clashes, theirs, value }: Question, yours: boolean[]) => {
    ask(undefined);
    let next = value;
    clashes.forEach((c, i) => { if (!yours[i]) next = put(next, c.path, c.theirs); });
    if (what === "change") {
      adopt(theirs!, next);
      return;
    }
    if (yours.includes(false)) box.write(toText(next));
    void send(false, yours.includes(true));
  };

  const stale = base.metadata.resourceVersion !== object.metadata.resourceVersion && !equal(spec(base), spec(object));
  return (
    <div class="stack fill">
      {deleted && <Notice kind="warn">The object was deleted meanwhile. Your text is kept; copy it if you want to create the object again.</Notice>}
      {stale && !deleted && (
        <Notice kind="warn">
          <span>{lastManager(object)} changed this object while you edit it.</span>
          <button type="button" onClick={() => { try { join(object); } catch (e) { setError(e); } }}>Bring the change into my text</button>
        </Notice>
      )}
      <TextBox box={box} schema={schema} text={text} label={`Edit ${target.name}`} />
      <Objections box={box} list={objections} />
      <Failure error={error} />
      {removed.length > 0 && way === "apply" && <Notice kind="warn">An apply removes only what an earlier apply of this page has set. These stay: {removed.slice(0, 8).join(", ")}. Choose “Replace” to remove them.</Notice>}
      {preview !== undefined && others.length > 0 && <Notice>Others own {others.join(", ")}. When you save, the page asks whether you take these fields over.</Notice>}
      {preview !== undefined && <section class="preview" aria-label="What would be stored"><h2>What would be stored</h2><Diff before={toText(withoutOwners(object))} after={preview} label="What would be stored" /></section>}
      <div class="row">
        <button type="button" disabled={busy} onClick={() => void send(true)}>Preview</button>
        <button type="button" class="primary" disabled={busy || deleted} onClick={() => void send(false)}>{busy ? "Waiting…" : "Save"}</button>
        <label for="way">by</label>
        <select id="way" value={way} disabled={busy} onChange={(e) => setWay(e.currentTarget.value as "apply" | "replace")}>
          <option value="apply">Apply: only what you changed</option>
          <option value="replace">Replace: the whole object</option>
        </select>
        <button type="button" class="quiet" disabled={busy} onClick={() => { drafts.delete(id); answer([]); setBase(object); const t = toText(withoutOwners(object)); setText(t); box.write(t); setPreview(undefined); setError(undefined); }}>Discard changes</button>
      </div>
      {question?.kind === "owners" && (
        <Clashes title="Fields that others own" intro="Take over makes you the owner with your value. Give up keeps the value of the other owner." yes="Take over" no="Give up"
          clashes={question.clashes} done={(yours) => decide(question, yours)} close={() => ask(undefined)} />
      )}
      {question?.kind === "change" && (
        <Clashes title="Both of you changed these fields" intro="Everything else is joined already." yes="Yours" no="Theirs"
          clashes={question.clashes} done={(yours) => decide(question, yours)} close={() => ask(undefined)} />
      )}
    </div>
  );
}

function spec(o: KubeObject): Value {
  const { status: _, ...rest } = o;
  const { resourceVersion: _v, managedFields: _m, ...metadata } = o.metadata;
  return { ...rest, metadata } as unknown as Value;
}

function lastManager(o: KubeObject): string {
  return [...(o.metadata.managedFields ?? [])].sort((a, b) => (a.time ?? "").localeCompare(b.time ?? "")).at(-1)?.manager ?? "Somebody";
}
