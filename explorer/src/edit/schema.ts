import { Document, openapi, type Schema } from "../api/openapi";
import type { Kind } from "../api/discovery";
import type { Value } from "../api/types";
import type { Mistake, Path, Source } from "../parts/source";

/** KindSchema is the schema of a kind, with the document that has its parts. */
export class KindSchema {
  constructor(private readonly document: Document, readonly root: Schema) {}

  /** below is the schema of a field or an item. */
  below(schema: Schema, step: string | number): Schema | undefined {
    if (typeof step === "number") return schema.items && this.document.resolve(schema.items);
    const own = schema.properties?.[step];
    if (own) return this.document.resolve(own);
    return typeof schema.additionalProperties === "object" ? this.document.resolve(schema.additionalProperties) : undefined;
  }

  at(path: Path): Schema | undefined {
    let schema: Schema | undefined = this.root;
    for (const step of path) schema = schema && this.below(schema, step);
    return schema;
  }
}

/** loadSchema loads the schema of a kind; undefined if the server publishes none. */
export async function loadSchema(kind: Kind): Promise<KindSchema | undefined> {
  const document = await openapi(kind.group, kind.version);
  const name = document.find(kind.group, kind.version, kind.kind);
  return name ? new KindSchema(document, document.resolve({ $ref: `#/components/schemas/${name}` })) : undefined;
}

const most = 200;

/** check compares a text with the schema. */
export function check(source: Source, schema: KindSchema): Mistake[] {
  const out: Mistake[] = [];
  const visit = (value: Value, s: Schema, path: Path): void => {
    if (out.length >= most || value === null) return;
    const wrong = problem(value, s);
    if (wrong) {
      const span = source.find(path);
      out.push({ from: span.from, to: typeof value === "object" ? span.keyTo : span.to, message: wrong });
      return;
    }
    if (Array.isArray(value)) {
      const items = schema.below(s, 0);
      if (items) value.forEach((item, i) => visit(item, items, [...path, i]));
    } else if (typeof value === "object") {
      fields(value, s, path);
    }
  };
  const fields = (value: Record<string, Value>, s: Schema, path: Path): void => {
    for (const name of s.required ?? []) {
      if (value[name] === undefined || value[name] === null) {
        const span = source.find(path);
        out.push({ from: span.from, to: span.keyTo, message: `${name} is required` });
      }
    }
    const open = !s.properties || s.additionalProperties || s["x-kubernetes-preserve-unknown-fields"] || s["x-kubernetes-embedded-resource"];
    for (const [key, v] of Object.entries(value)) {
      const below = schema.below(s, key);
      if (below) visit(v, below, [...path, key]);
      else if (!open) {
        const span = source.find([...path, key]);
        out.push({ from: span.from, to: span.keyTo, message: `unknown field ${key}` });
      }
    }
  };
  visit(source.value, schema.root, []);
  return out.slice(0, most);
}

/** problem is what is wrong with a value itself, without what is in it. */
function problem(value: Value, s: Schema): string | undefined {
  if (s["x-kubernetes-int-or-string"] || s.format === "int-or-string") return ["number", "string"].includes(typeof value) ? undefined : "must be a number or a string";
  const type = Array.isArray(value) ? "array" : typeof value;
  if (s.type === "integer" ? !Number.isInteger(value) : s.type && s.type !== type) return `must be ${article(s.type!)}, not ${article(type)}`;
  if (s.enum && !s.enum.includes(value)) return `must be one of ${s.enum.join(", ")}`;
  if (typeof value === "number") {
    if (s.minimum !== undefined && (value < s.minimum || (s.exclusiveMinimum && value === s.minimum))) return `must be at least ${s.minimum}`;
    if (s.maximum !== undefined && (value > s.maximum || (s.exclusiveMaximum && value === s.maximum))) return `must be at most ${s.maximum}`;
  }
  if (typeof value === "string") {
    if (s.minLength !== undefined && value.length < s.minLength) return `must have at least ${s.minLength} characters`;
    if (s.maxLength !== undefined && [...value].length > s.maxLength) return `must have at most ${s.maxLength} characters`;
    if (s.pattern && !matches(s.pattern, value)) return `must match ${s.pattern}`;
  }
  if (Array.isArray(value)) {
    if (s.minItems !== undefined && value.length < s.minItems) return `must have at least ${s.minItems} items`;
    if (s.maxItems !== undefined && value.length > s.maxItems) return `must have at most ${s.maxItems} items`;
  }
  return undefined;
}

/** matches takes patterns that this browser does not understand as fulfilled: the server checks them. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    return true;
  }
}

function article(type: string): string {
  return `${/^[aio]/.test(type) ? "an" : "a"} ${type}`;
}

/** template is an object of a kind with the fields that it must have. */
export function template(schema: KindSchema | undefined, head: Record<string, Value>): Value {
  const fill = (s: Schema, depth: number): Value => {
    if (s.default !== undefined) return s.default;
    if (s.enum?.length) return s.enum[0]!;
    if (s.type === "integer" || s.type === "number") return s.minimum ?? 0;
    if (s.type === "boolean") return false;
    if (s.type === "array") return s.minItems && depth < 8 ? [fill(schema!.below(s, 0) ?? {}, depth + 1)] : [];
    if (s.type === "string") return "";
    return Object.fromEntries((s.required ?? []).map((name) => [name, depth < 8 ? fill(schema!.below(s, name) ?? {}, depth + 1) : {}]));
  };
  if (!schema) return head;
  const wanted = new Set([...(schema.root.required ?? []), ...Object.keys(schema.root.properties ?? {}).filter((k) => k === "spec" || k === "data")]);
  const body = Object.fromEntries([...wanted].filter((k) => !(k in head) && k !== "status").map((k) => [k, fill(schema.below(schema.root, k) ?? {}, 0)]));
  return { ...head, ...body };
}
