import { autocompletion, type CompletionContext, type CompletionResult, completionKeymap } from "@codemirror/autocomplete";
import { type Diagnostic, linter, lintGutter, lintKeymap } from "@codemirror/lint";
import { type Extension, StateEffect, type Text } from "@codemirror/state";
import { type EditorView, hoverTooltip, keymap } from "@codemirror/view";
import type { Schema } from "../api/openapi";
import { large, type Path, Source } from "../parts/source";
import { check, type KindSchema } from "./schema";

/** Answers are the server's objections to the last text, until it is changed at their places. */
export interface Objection {
  path: Path;
  message: string;
}

/** objected says that the server's objections are others, although the text is the same. */
export const objected = StateEffect.define();

/** assist completes, explains and checks by a schema while one types. */
export function assist(schema: KindSchema | undefined, objections: () => Objection[]): Extension[] {
  const check = linter((view) => diagnose(view, schema, objections()), {
    delay: 300, needsRefresh: (update) => update.transactions.some((t) => t.effects.some((e) => e.is(objected))),
  });
  const keys = keymap.of([...completionKeymap, ...lintKeymap]);
  if (!schema) return [check, lintGutter(), keys];
  return [check, lintGutter(), keys, autocompletion({ override: [(context) => complete(context, schema)], icons: false }), hoverTooltip((view, position) => explainField(view, position, schema))];
}

function diagnose(view: EditorView, schema: KindSchema | undefined, objections: Objection[]): Diagnostic[] {
  const text = view.state.doc.toString();
  if (text.length > large) return []; // the server checks large objects
  const source = new Source(text);
  const out: Diagnostic[] = source.mistakes.map((m) => ({ ...m, severity: "error" }));
  if (!out.length && schema) out.push(...check(source, schema).map((m): Diagnostic => ({ ...m, to: Math.max(m.to, m.from), severity: "error", source: "schema" })));
  for (const { path, message } of objections) {
    const span = source.find(path);
    out.push({ from: span.from, to: span.keyTo, severity: "error", source: "server", message });
  }
  return out;
}

interface Place {
  path: Path; // of the mapping or the list that the line is in
  key?: string; // of the line
  content: number; // where the line's text begins
}

const line = /^(\s*)((?:- +|-$)*)(?:("[^"]*"|'[^']*'|[^\s:#"'[\]{}-][^:#]*?)\s*:(?=\s|$))?/;

interface Parts {
  indent: number;
  dashes: string;
  key?: string;
}

function partsOf(text: string): Parts {
  const [, indent = "", dashes = "", key] = line.exec(text)!;
  return { indent: indent.length, dashes, key: key?.replace(/^["']|["']$/g, "") };
}

/** placeOf reads by the indentation where a line is, so that half-written texts have places too. */
export function placeOf(doc: Text, number: number): Place {
  const here = partsOf(doc.line(number).text);
  const path: Path = [];
  let level = here.indent + here.dashes.length;
  let equal = false;
  const items = (parts: Parts) => {
    for (const _ of parts.dashes.match(/-/g) ?? []) path.unshift(0);
    if (parts.dashes) {
      level = parts.indent;
      equal = true;
    }
  };
  items(here);
  for (let n = number - 1; n > 0 && (level > 0 || equal); n--) {
    const text = doc.line(n).text;
    if (!text.trim() || text.trimStart().startsWith("#")) continue;
    const above = partsOf(text);
    const content = above.indent + above.dashes.length;
    if (above.key !== undefined && (content < level || (equal && content === level && !above.dashes))) {
      path.unshift(above.key);
      level = content;
      equal = false;
      items(above);
    } else if (above.dashes && above.indent < level && content === level) {
      items(above);
    }
  }
  return { path, key: here.key, content: here.indent + here.dashes.length };
}

function complete(context: CompletionContext, schema: KindSchema): CompletionResult | null {
  const { doc } = context.state;
  const at = doc.lineAt(context.pos);
  const before = at.text.slice(0, context.pos - at.from);
  const place = placeOf(doc, at.number);
  const value = /:\s+(\S*)$/.exec(before);
  if (place.key !== undefined && value) {
    const s = schema.at([...place.path, place.key]);
    const options = s?.enum ?? (s?.type === "boolean" ? [true, false] : s?.default !== undefined && typeof s.default !== "object" ? [s.default] : []);
    return options.length ? { from: context.pos - value[1]!.length, options: options.map((o) => ({ label: String(o) })), validFor: /^\S*$/ } : null;
  }
  const word = /([\w$./-]*)$/.exec(before.slice(place.content))?.[1] ?? "";
  if (before.length < place.content || before.slice(place.content).trim() !== word || (!word && !context.explicit)) return null;
  const s = schema.at(place.path);
  if (!s?.properties) return s?.enum ? { from: context.pos - word.length, options: s.enum.map((o) => ({ label: String(o) })) } : null;
  const required = new Set(s.required ?? []);
  const options = Object.keys(s.properties).map((name) => {
    const field = schema.below(s, name) ?? {};
    return { label: name, apply: `${name}:${field.type === "object" || field.type === "array" ? "" : " "}`, detail: typeOf(field) + (required.has(name) ? ", required" : ""), boost: required.has(name) ? 1 : 0, info: field.description };
  });
  return { from: context.pos - word.length, options, validFor: /^[\w$./-]*$/ };
}

function explainField(view: EditorView, position: number, schema: KindSchema) {
  const at = view.state.doc.lineAt(position);
  const place = placeOf(view.state.doc, at.number);
  const end = at.from + place.content + (place.key?.length ?? 0);
  if (place.key === undefined || position < at.from + place.content || position > end) return null;
  const field = schema.at([...place.path, place.key]);
  if (!field) return null;
  const create = () => {
    const dom = document.createElement("div");
    for (const text of [`${place.key}: ${typeOf(field)}${bounds(field)}`, field.description ?? ""]) {
      const p = document.createElement("p");
      p.textContent = text;
      dom.append(p);
    }
    return { dom };
  };
  return { pos: at.from + place.content, end, above: true, create };
}

function typeOf(s: Schema): string {
  if (s["x-kubernetes-int-or-string"] || s.format === "int-or-string") return "integer or string";
  return (s.type ?? "any") + (s.format ? ` (${s.format})` : "");
}

function bounds(s: Schema): string {
  const parts = [
    s.enum && `one of ${s.enum.join(", ")}`, s.minimum !== undefined && `at least ${s.minimum}`, s.maximum !== undefined && `at most ${s.maximum}`,
    s.maxLength !== undefined && `at most ${s.maxLength} characters`, s.default !== undefined && `default ${JSON.stringify(s.default)}`,
  ].filter(Boolean);
  return parts.length ? `, ${parts.join(", ")}` : "";
}
