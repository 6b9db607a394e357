import { type Document, nameOf, openapi, type Schema } from "../api/openapi";

/** TypeAt is a kind or another type of a group version's document. */
export interface TypeAt {
  group: string;
  version: string;
  name: string; // of the kind, or the last part of the schema's name where that is enough
  schema: Schema;
  document: Document;
  kind: boolean;
}

/** findType finds a type by the name of its kind, or that of its schema or its last part; undefined for none. */
export async function findType(at: { group: string; version: string }, name: string): Promise<TypeAt | undefined> {
  const document = await openapi(at.group, at.version);
  const kind = document.find(at.group, at.version, name);
  const found = kind ?? schemaNamed(document, name);
  return found === undefined ? undefined : { ...at, name, document, schema: document.resolve(document.schemas[found]!), kind: kind !== undefined };
}

function schemaNamed(document: Document, name: string): string | undefined {
  return Object.hasOwn(document.schemas, name) ? name : Object.keys(document.schemas).find((full) => lastOf(full) === name);
}

function lastOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** shortName is the last part of a schema's name, or the whole name where several have that part. */
export function shortName(document: Document, full: string): string {
  return schemaNamed(document, lastOf(full)) === full ? lastOf(full) : full;
}

/** refOf is the name of the schema that a schema refers to. */
export function refOf(s: Schema): string | undefined {
  const ref = s.$ref ?? (s.allOf?.length === 1 ? s.allOf[0]!.$ref : undefined);
  return ref === undefined ? undefined : nameOf(ref);
}

/** Worded is a type in words, with the name of the schema that a link may lead to. */
export interface Worded {
  before: string; // "list of "
  text: string;
  ref?: string;
}

/** wordType writes the type of a field. */
export function wordType(document: Document, schema: Schema): Worded {
  const ref = refOf(schema);
  const s = document.resolve(schema);
  if (s["x-kubernetes-int-or-string"] || s.format === "int-or-string") return { before: "", text: "integer or string" };
  if (s.type === "array") {
    const of = s.items ? wordType(document, s.items) : { before: "", text: "anything" };
    return { ...of, before: `list of ${of.before}` };
  }
  if (ref !== undefined && s.properties) return { before: "", text: shortName(document, ref), ref };
  if (typeof s.additionalProperties === "object") {
    const of = wordType(document, s.additionalProperties);
    return { ...of, before: `map to ${of.before}` };
  }
  return { before: "", text: (s.type ?? "anything") + (s.format ? ` (${s.format})` : "") };
}

/** Field is a field of an object, of the items of a list, or of the values of a map. */
export interface Field {
  name: string;
  schema: Schema; // resolved
  raw: Schema;
  required: boolean;
}

/** fieldsOf lists the fields of a type, the required ones first. */
export function fieldsOf(document: Document, schema: Schema): Field[] {
  const s = inner(document, schema);
  const required = new Set(s.required ?? []);
  return Object.entries(s.properties ?? {})
    .map(([name, raw]) => ({ name, raw, schema: document.resolve(raw), required: required.has(name) }))
    .sort((a, b) => Number(b.required) - Number(a.required) || a.name.localeCompare(b.name));
}

/** inner is the schema of the items of lists, and of the values of maps. */
function inner(document: Document, schema: Schema): Schema {
  let s = document.resolve(schema);
  for (let depth = 0; depth < 5; depth++) {
    const next = s.type === "array" ? s.items : s.properties ? undefined : s.additionalProperties;
    if (typeof next !== "object") break;
    s = document.resolve(next);
  }
  return s;
}

/** Visit is called for a field; false skips the fields in it. */
type Visit = (path: string[], field: Field) => boolean | void;

/** most bounds the fields of one type, deepest their depth. */
const most = 20_000;
const deepest = 16;

/** walk visits the fields of a type and those in them; a type is not visited inside of itself. */
export function walk(document: Document, schema: Schema, visit: Visit): void {
  let count = 0;
  const into = (s: Schema, path: string[], around: string[]) => {
    for (const field of fieldsOf(document, s)) {
      if (++count > most) return;
      const at = [...path, field.name];
      if (visit(at, field) === false || at.length >= deepest) continue;
      const ref = innermost(document, field.raw);
      if (ref === undefined || !around.includes(ref)) into(field.raw, at, ref === undefined ? around : [...around, ref]);
    }
  };
  into(schema, [], []);
}

/** innermost is the name of the schema behind lists and maps. */
function innermost(document: Document, schema: Schema): string | undefined {
  return wordType(document, schema).ref;
}
