import { useMemo, useRef, useState } from "preact/hooks";
import { findResource, kinds } from "../api/discovery";
import { Document } from "../api/openapi";
import { aborted } from "../api/client";
import type { Objection } from "../edit/assist";
import { drafts, useDraft } from "../edit/drafts";
import { objectionsOf } from "../edit/save";
import { Box, Objections, TextBox } from "../edit/textbox";
import { useKeys } from "../keys";
import { Failure, Notice } from "../parts/notice";
import { Fields } from "./fields";
import { check, type Checked, countRules, inPasted, type Pasted, readPasted } from "./pasted";

const id = "check of a definition";
const bare = new Document({});

const example = `# A definition (CustomResourceDefinition), or only a schema such as this one:
type: object
properties:
  spec:
    type: object
    required: [port]
    properties:
      port:
        type: integer
        minimum: 1
        maximum: 65535
      names:
        type: array
        maxItems: 10
        items:
          type: string
          maxLength: 63
    x-kubernetes-validations:
    - rule: self.port != 22 || !has(self.names)
      message: a server of names has another port
`;

/** Definition explains and checks the schema of a definition that is pasted in. The server is asked; nothing is stored. */
export function Definition() {
  const box = useRef<Box | undefined>(undefined);
  box.current ??= new Box();
  const { current: text } = useRef(drafts.get(id)?.text ?? example);
  const [pasted, setPasted] = useState<Pasted>();
  const [checked, setChecked] = useState<Checked>();
  const [error, setError] = useState<unknown>();
  const [objections, setObjections] = useState<Objection[]>([]);
  const [busy, setBusy] = useState(false);
  useDraft(id, box.current, example);
  const run = async () => {
    if (busy) return;
    setBusy(true);
    setError(undefined);
    setChecked(undefined);
    let now: Pasted | undefined;
    const object = (list: Objection[]) => { setObjections(list); box.current!.refuse(list); };
    try {
      now = readPasted(box.current!.object().value);
      setPasted(now);
      setChecked(await check(definitions(), now));
      object([]);
    } catch (e) {
      if (aborted(e)) return;
      setError(e);
      object(now ? objectionsOf(e, now.definition).map((o) => ({ ...o, path: inPasted(now!, o.path) })) : []);
    } finally {
      setBusy(false);
    }
  };
  useKeys([{ key: "ctrl+Enter", does: "check the definition", run: () => void run() }]);
  return (
    <main class="page documents">
      <h1>Check a definition</h1>
      <p class="soft">Paste a CustomResourceDefinition or the schema of one. The server says whether it would take the definition, and why not; it stores nothing. This needs the right to create customresourcedefinitions.</p>
      <div class="paste"><TextBox box={box.current} schema={undefined} text={text} label="Definition or schema" /></div>
      <div class="row">
        <button type="button" class="primary" disabled={busy} onClick={() => void run()}>{busy ? "Waiting…" : "Check"}</button>
        <span class="soft">or <kbd>Ctrl Enter</kbd> outside of the text</span>
      </div>
      <Objections box={box.current} list={objections} />
      <Failure error={error} />
      {checked && <Good checked={checked} />}
      {pasted && <Tree pasted={pasted} />}
    </main>
  );
}

function definitions() {
  const kind = findResource("apiextensions.k8s.io", "v1", "customresourcedefinitions");
  if (!kind) throw new Error(kinds.value ? "This server has no definitions of custom resources (apiextensions.k8s.io/v1)." : "The server has not said yet what it serves; try again.");
  return kind;
}

function Good({ checked: { stored, renamed } }: { checked: Checked }) {
  const versions = readPasted(stored as never).versions;
  const rules = versions.reduce((n, v) => n + countRules(v.schema), 0);
  return (
    <Notice kind="good">
      <span>The server would take this definition. Its schema is structural{rules > 0 ? `; ${rules === 1 ? "its rule compiles, and costs" : `its ${rules} rules compile, and cost`} less than the limit in the worst case` : "; it has no rules"}.
        {renamed && " The server has a definition of this name already: it was asked about the same one in another group."}</span>
    </Notice>
  );
}

/** Tree shows the fields as those of built-in kinds are shown. */
function Tree({ pasted }: { pasted: Pasted }) {
  const [picked, pick] = useState(0);
  const version = pasted.versions[picked] ?? pasted.versions[0];
  const links = useMemo(() => ({}), []);
  if (!version) return null;
  return (
    <section class="stack" aria-label="Fields of the definition">
      <div class="row">
        <h2 class="grow">Fields</h2>
        {pasted.versions.length > 1 && (
          <select aria-label="Version" value={picked} onChange={(e) => pick(Number(e.currentTarget.value))}>{pasted.versions.map((v, i) => <option key={v.name} value={i}>{v.name}</option>)}</select>
        )}
      </div>
      <Fields document={bare} schema={version.schema} links={links} here={[]} />
    </section>
  );
}
