import { RangeSetBuilder, type Text } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker } from "@codemirror/view";
import { useMemo, useState } from "preact/hooks";
import type { KubeObject } from "../api/types";
import { when } from "../parts/age";
import { Editor, yamlBase } from "../parts/editor";
import { Notice } from "../parts/notice";
import { large, showPath, Source, toText, withoutOwners } from "../parts/source";
import { type Owner, ownersOf } from "./owners";

/** YamlTab shows the object with the owner of each field. */
export function YamlTab({ object }: { object: KubeObject }) {
  const [only, setOnly] = useState<number>();
  const text = useMemo(() => toText(withoutOwners(object)), [object]);
  const owners = useMemo(() => ownersOf(object), [object]);
  const lines = useMemo(() => (text.length > large ? new Map<number, number[]>() : linesOf(text, owners)), [text, owners]);
  const extensions = useMemo(() => [...yamlBase(`YAML of ${object.metadata.name}`, true), ...ownership(lines, owners, only)], [lines, only]);
  return (
    <div class="split">
      <Editor text={text} extensions={extensions} className="fill" />
      <section class="legend" aria-label="Owners of the fields">
        <h2>Owners</h2>
        {text.length > large && <Notice>The object is large: it is shown as JSON, and the lines have no colours.</Notice>}
        {!owners.length && <p class="soft">Nobody is recorded as an owner.</p>}
        {owners.map((o, i) => <LegendEntry key={i} owner={o} index={i} only={only} choose={() => setOnly(only === i ? undefined : i)} />)}
      </section>
    </div>
  );
}

function LegendEntry({ owner, index, only, choose }: { owner: Owner; index: number; only: number | undefined; choose: () => void }) {
  return (
    <div class="legend-entry">
      <button type="button" aria-pressed={only === index} onClick={choose}>
        <span class={`swatch owner-${index % 8}`} aria-hidden="true" />{owner.manager}{owner.subresource && <span class="soft">/{owner.subresource}</span>}
      </button>
      <p class="soft">{owner.operation === "Apply" ? "applied" : "updated"} {when(owner.time)}</p>
      <details>
        <summary>{owner.fields.length === 1 ? "1 field" : `${owner.fields.length} fields`}</summary>
        <ul class="mono">{owner.fields.slice(0, 500).map((f, i) => <li key={i}>{showPath(f.path)}</li>)}</ul>
      </details>
    </div>
  );
}

/** linesOf are the owners of each line, by their places in the list. */
function linesOf(text: string, owners: Owner[]): Map<number, number[]> {
  const source = new Source(text);
  const starts = [0];
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) starts.push(i + 1);
  const lineAt = (position: number) => {
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (starts[middle]! <= position) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  };
  const lines = new Map<number, number[]>();
  owners.forEach((owner, i) => {
    for (const field of owner.fields) {
      const span = source.exact(field.path);
      if (!span) continue;
      const last = field.whole ? lineAt(Math.max(span.from, span.to - 1)) : lineAt(span.from);
      for (let line = lineAt(span.from); line <= last; line++) {
        const list = lines.get(line) ?? [];
        if (!list.includes(i)) lines.set(line, [...list, i]);
      }
    }
  });
  return lines;
}

class Bars extends GutterMarker {
  constructor(private readonly list: number[], private readonly owners: Owner[], private readonly only: number | undefined) {
    super();
  }

  override toDOM(): Node {
    const all = document.createDocumentFragment();
    for (const i of this.list) {
      const bar = document.createElement("span");
      bar.className = `owner owner-${i % 8}${this.only !== undefined && this.only !== i ? " dim" : ""}`;
      bar.title = this.owners[i]!.manager;
      all.append(bar);
    }
    const box = document.createElement("span");
    box.style.display = "contents";
    box.append(all);
    return box;
  }
}

function ownership(lines: Map<number, number[]>, owners: Owner[], only: number | undefined) {
  const marks = new Map([...lines].map(([line, list]) => [line, new Bars(list, owners, only)]));
  return [
    gutter({ class: "owners-gutter", lineMarker: (view, block) => marks.get(view.state.doc.lineAt(block.from).number) ?? null }),
    ...(only === undefined ? [] : [EditorView.decorations.of((view) => dimmed(view.state.doc, lines, only))]),
  ];
}

const dim = Decoration.line({ class: "line-dim" });

function dimmed(doc: Text, lines: Map<number, number[]>, only: number) {
  const builder = new RangeSetBuilder<Decoration>();
  for (let n = 1; n <= doc.lines; n++) {
    if (!lines.get(n)?.includes(only)) builder.add(doc.line(n).from, doc.line(n).from, dim);
  }
  return builder.finish();
}
