import { Document, isMap, isPair, isScalar, isSeq, LineCounter, parseDocument, type Node } from "yaml";
import type { Value } from "../api/types";

export type Path = (string | number)[];

/** Span is where a field is in a text: its key, or the beginning of an item, and the end of its value. */
export interface Span {
  from: number;
  keyTo: number;
  to: number;
}

/** large is the length of a text from which it is shown as JSON, which is YAML too and is written and read faster. */
export const large = 1_000_000;

/** toText writes an object for people. */
export function toText(value: unknown): string {
  const quick = JSON.stringify(value, null, 2);
  return quick.length > large ? quick + "\n" : new Document(value).toString({ lineWidth: 0 });
}

/** withoutOwners is an object without managedFields, which the page shows in another form. */
export function withoutOwners<T extends { metadata: object }>(object: T): T {
  const { managedFields: _, ...metadata } = object.metadata as { managedFields?: unknown };
  return { ...object, metadata };
}

export function keyOf(path: Path): string {
  return JSON.stringify(path.map(String));
}

export interface Mistake {
  from: number;
  to: number;
  message: string;
}

/** Source is a text with its meaning, and where each field is. */
export class Source {
  readonly value: Value;
  readonly mistakes: Mistake[] = [];
  private readonly spans = new Map<string, Span>();

  constructor(readonly text: string) {
    const doc = parseDocument(text, { lineCounter: new LineCounter(), uniqueKeys: true, prettyErrors: false });
    for (const e of [...doc.errors, ...doc.warnings]) {
      const from = Math.min(e.pos[0], text.length);
      this.mistakes.push({ from, to: Math.min(Math.max(e.pos[1], from + 1), text.length), message: e.message });
    }
    let value: Value = null;
    try {
      value = doc.toJS({ maxAliasCount: 100 }) as Value;
    } catch (error) {
      this.mistakes.push({ from: 0, to: Math.min(1, text.length), message: (error as Error).message });
    }
    this.value = value;
    if (doc.contents) this.walk(doc.contents as Node, []);
  }

  /** find finds a field, or the nearest one above it that is in the text. */
  find(path: Path): Span {
    for (let n = path.length; n > 0; n--) {
      const span = this.spans.get(keyOf(path.slice(0, n)));
      if (span) return span;
    }
    return { from: 0, keyTo: Math.max(0, this.text.indexOf("\n")), to: this.text.length };
  }

  /** exact finds a field. */
  exact(path: Path): Span | undefined {
    return this.spans.get(keyOf(path));
  }

  private walk(node: Node | null, path: Path): void {
    if (isMap(node)) {
      for (const pair of node.items) {
        if (!isPair(pair) || !isScalar(pair.key) || !pair.key.range) continue;
        const at = [...path, String(pair.key.value)];
        const value = pair.value as Node | null;
        this.spans.set(keyOf(at), { from: pair.key.range[0], keyTo: pair.key.range[1], to: this.trim(value?.range?.[1] ?? pair.key.range[1]) });
        this.walk(value, at);
      }
    } else if (isSeq(node)) {
      node.items.forEach((item, i) => {
        const range = (item as Node | null)?.range;
        if (!range) return;
        const end = this.text.indexOf("\n", range[0]);
        this.spans.set(keyOf([...path, i]), { from: range[0], keyTo: Math.min(range[1], end < 0 ? range[1] : end), to: this.trim(range[1]) });
        this.walk(item as Node, [...path, i]);
      });
    }
  }

  /** trim is the end of a value without the ends of lines behind it. */
  private trim(end: number): number {
    while (end > 0 && /\s/.test(this.text[end - 1]!)) end--;
    return end;
  }
}

/** parsePath reads a path as the server writes it: spec.containers[0].image, or .spec.containers[name="web"].image of conflicts. */
export function parsePath(text: string, value: Value): Path {
  const path: Path = [];
  let at: Value | undefined = value;
  const step = (key: string | number) => {
    path.push(key);
    at = at !== null && typeof at === "object" ? (at as Record<string | number, Value>)[key] : undefined;
  };
  for (const part of text.matchAll(/\[([^\]]*)\]|([^.[\]]+)/g)) {
    if (part[2] !== undefined) step(part[2]);
    else if (/^\d+$/.test(part[1]!)) step(Number(part[1]));
    else if (Array.isArray(at)) step(indexOf(at, part[1]!));
    else step(part[1]!.replace(/^"(.*)"$/, "$1"));
  }
  return path;
}

/** indexOf finds the item that conditions of a conflict's path name: name="web",protocol="TCP", or ="value" in a set. */
function indexOf(items: Value[], conditions: string): number {
  const wanted = [...conditions.matchAll(/([^=,]*)=("(?:[^"\\]|\\.)*"|[^,]*)/g)].map(([, key, v]) => [key!, JSON.parse(v!) as Value] as const);
  return items.findIndex((item) => wanted.every(([key, v]) => (key ? (item as Record<string, Value> | null)?.[key] : item) === v));
}

/** showPath writes a path for people. */
export function showPath(path: Path): string {
  return path.map((p) => (typeof p === "number" ? `[${p}]` : /^[\w$-]+$/.test(p) ? `.${p}` : `["${p}"]`)).join("").replace(/^\./, "");
}
