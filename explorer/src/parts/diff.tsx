import { unifiedMergeView } from "@codemirror/merge";
import { useMemo } from "preact/hooks";
import { Editor, yamlBase } from "./editor";

/** Diff shows what changed between two texts, in one column, so that it is readable on narrow screens. */
export function Diff({ before, after, label }: { before: string; after: string; label: string }) {
  const extensions = useMemo(() => [
    ...yamlBase(label, true),
    unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 3, minSize: 6 }, diffConfig: { scanLimit: 2000, timeout: 500 } }),
  ], [before, label]);
  if (before === after) return <p class="soft" role="status">Nothing differs.</p>;
  return <Editor key={before} text={after} extensions={extensions} className="diff" />;
}
