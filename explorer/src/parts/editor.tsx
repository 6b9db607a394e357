import { closeBrackets } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, codeFolding, foldGutter, foldKeymap, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension, StateEffect } from "@codemirror/state";
import { EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--text)" },
  { tag: [tags.comment, tags.meta], color: "var(--soft)" },
  { tag: [tags.keyword, tags.bool, tags.null, tags.number], color: "var(--warn)" },
]);

const owners = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [
  [`.owner-${i}`, { backgroundColor: `var(--owner-${i})` }],
]).flat() as [string, object][]);

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--panel)", height: "100%", fontSize: "0.8125rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--soft)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--raised)" },
  ".cm-selectionMatch": { backgroundColor: "var(--accent-bg)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection": { backgroundColor: "var(--accent-bg)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--raised)", color: "var(--soft)", border: "1px solid var(--line)" },
  ".cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "0.375rem", maxWidth: "32rem" },
  ".cm-tooltip p, .cm-tooltip-hover": { padding: "0.25rem 0.5rem", margin: "0", fontFamily: "var(--font)", overflowWrap: "anywhere" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent-bg)", color: "var(--text)" },
  ".cm-completionDetail": { color: "var(--soft)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-textfield": { backgroundColor: "var(--panel)", border: "1px solid var(--line)" },
  ".cm-button": { backgroundImage: "none", backgroundColor: "var(--panel)", border: "1px solid var(--line)" },
  ".cm-diagnostic": { fontFamily: "var(--font)" },
  ".cm-diagnostic-error": { borderLeftColor: "var(--bad)" },
  ".cm-diagnostic-warning": { borderLeftColor: "var(--warn)" },
  ".cm-changedLine": { backgroundColor: "var(--good-bg) !important" },
  ".cm-deletedChunk": { backgroundColor: "var(--bad-bg) !important" },
  ".cm-changedText, .cm-deletedText": { background: "none !important", textDecoration: "underline" },
  ".cm-changedLineGutter": { background: "var(--good) !important" },
  ".cm-deletedLineGutter": { background: "var(--bad) !important" },
  ".cm-collapsedLines": { background: "var(--raised) !important", color: "var(--soft) !important" },
  ".cm-collapsedLines::before, .cm-collapsedLines::after": { content: '"⋯" !important' },
  ".owners-gutter .cm-gutterElement": { display: "flex", gap: "2px", minWidth: "0.75rem", padding: "0 2px" },
  ".owner": { width: "5px", height: "100%" },
  ".owner.dim": { opacity: "0.15" },
  ".line-dim": { opacity: "0.45" },
  ...owners,
});

/**
 * typeOver replaces a selection by what is typed. Browsers that do so themselves keep the look of the replaced text by a style
 * attribute, which the page's security policy blocks.
 */
const typeOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { data } = event;
    const { from, to, empty } = view.state.selection.main;
    if (event.inputType !== "insertText" || data === null || empty || view.composing) return false;
    const insert = () => view.state.update(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    if (!view.state.facet(EditorView.inputHandler).some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert());
    return true;
  },
});

/** yamlBase is what all editors of objects have. */
export function yamlBase(label: string, readOnly: boolean): Extension[] {
  return [
    lineNumbers(), foldGutter(), codeFolding(), highlightSpecialChars(), history(), bracketMatching(), indentOnInput(), indentUnit.of("  "), search({ top: true }),
    highlightSelectionMatches(), highlightActiveLine(), yaml(), syntaxHighlighting(colours), look, EditorView.lineWrapping,
    keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap]),
    EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0", ...(readOnly ? { "aria-readonly": "true" } : {}) }),
    ...(readOnly ? [EditorState.readOnly.of(true), EditorView.editable.of(false)] : [closeBrackets(), typeOver]),
  ];
}

interface Props {
  text: string;
  extensions: Extension[];
  className?: string;
  onView?: (view: EditorView | undefined) => void;
}

/**
 * Editor is an editor of a text. It is in a shadow tree, because only there CodeMirror uses style sheets that the page's
 * security policy allows. Another text replaces what was typed.
 */
export function Editor({ text, extensions, className, onView }: Props) {
  const ref = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | undefined>(undefined);
  useEffect(() => {
    const shadow = ref.current!.shadowRoot ?? ref.current!.attachShadow({ mode: "open" });
    const box = document.createElement("div");
    box.style.height = "100%";
    shadow.append(box);
    view.current = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent: box, root: shadow });
    onView?.(view.current);
    return () => {
      onView?.(undefined);
      view.current?.destroy();
      box.remove();
    };
  }, []);
  useEffect(() => {
    const doc = view.current!.state.doc;
    if (doc.toString() !== text) view.current!.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
  }, [text]);
  useEffect(() => {
    view.current!.dispatch({ effects: StateEffect.reconfigure.of(extensions) });
  }, [extensions]);
  return <div ref={ref} class={`editor ${className ?? ""}`} />;
}
