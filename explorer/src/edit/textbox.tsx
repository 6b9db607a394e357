import { forceLinting } from "@codemirror/lint";
import type { EditorView } from "@codemirror/view";
import { useMemo, useRef } from "preact/hooks";
import type { Kind } from "../api/discovery";
import { Editor, yamlBase } from "../parts/editor";
import { useLoad } from "../parts/load";
import { showPath, Source } from "../parts/source";
import { assist, objected, type Objection } from "./assist";
import { type KindSchema, loadSchema } from "./schema";

/** Box is the text of an object that is edited, with the help of its schema. */
export class Box {
  view: EditorView | undefined;
  objections: Objection[] = [];

  read(): string {
    return this.view?.state.doc.toString() ?? "";
  }

  write(text: string): void {
    const doc = this.view?.state.doc;
    if (doc && doc.toString() !== text) this.view!.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
  }

  /** object reads the text; a text that is no object is an error. */
  object(): Source {
    const source = new Source(this.read());
    const mistake = source.mistakes[0];
    if (mistake) throw new Error(`Line ${source.text.slice(0, mistake.from).split("\n").length}: ${mistake.message}`);
    if (source.value === null || typeof source.value !== "object" || Array.isArray(source.value)) throw new Error("The text is no object: it needs lines such as apiVersion, kind and metadata.");
    return source;
  }

  refuse(objections: Objection[]): void {
    this.objections = objections;
    if (!this.view) return;
    this.view.dispatch({ effects: objected.of(null) });
    forceLinting(this.view);
    const first = objections[0];
    if (first) this.jump(first);
  }

  line(o: Objection): number {
    const text = this.read();
    return text.slice(0, new Source(text).find(o.path).from).split("\n").length;
  }

  jump(o: Objection): void {
    const from = new Source(this.read()).find(o.path).from;
    this.view?.dispatch({ selection: { anchor: from }, scrollIntoView: true });
    this.view?.focus();
  }
}

/** useBox is a box and the schema of its kind. */
export function useBox(kind: Kind): { box: Box; schema: KindSchema | undefined } {
  const box = useRef<Box | undefined>(undefined);
  box.current ??= new Box();
  const schema = useLoad(() => loadSchema(kind).catch(() => undefined), [kind]).value;
  return { box: box.current, schema };
}

export function TextBox({ box, schema, text, label }: { box: Box; schema: KindSchema | undefined; text: string; label: string }) {
  const extensions = useMemo(() => [...yamlBase(label, false), ...assist(schema, () => box.objections)], [schema, label]);
  return <Editor text={text} extensions={extensions} className="fill" onView={(view) => { box.view = view; }} />;
}

/** Objections lists what the server objects to, with the lines. */
export function Objections({ box, list }: { box: Box; list: Objection[] }) {
  if (!list.length) return null;
  return (
    <ul class="objections" aria-label="What the server objects to">
      {list.map((o, i) => <li key={i}><button type="button" onClick={() => box.jump(o)}>Line {box.line(o)}</button> <span class="mono">{showPath(o.path)}</span> {o.message}</li>)}
    </ul>
  );
}
