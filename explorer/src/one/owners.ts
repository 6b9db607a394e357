import type { KubeObject, ManagedFieldsEntry, Value } from "../api/types";
import type { Path } from "../parts/source";

/** Owned is a field that somebody has set: all of it, or only that it is there. */
export interface Owned {
  path: Path;
  whole: boolean;
}

export interface Owner {
  manager: string;
  operation: string;
  time: string;
  subresource: string;
  fields: Owned[];
}

/** ownersOf reads who owns which fields of an object. */
export function ownersOf(object: KubeObject): Owner[] {
  return (object.metadata.managedFields ?? []).map((entry: ManagedFieldsEntry) => {
    const fields: Owned[] = [];
    walk((entry.fieldsV1 ?? {}) as Tree, object as Value, [], fields);
    return { manager: entry.manager ?? "", operation: entry.operation ?? "", time: entry.time ?? "", subresource: entry.subresource ?? "", fields };
  });
}

export type Tree = { [key: string]: Tree };

function walk(tree: Tree, value: Value | undefined, path: Path, out: Owned[]): void {
  for (const [key, below] of Object.entries(tree)) {
    if (key === ".") {
      if (path.length) out.push({ path, whole: false });
      continue;
    }
    const step = stepOf(key, value);
    if (step === undefined) continue;
    const at = [...path, step];
    if (!Object.keys(below).length) out.push({ path: at, whole: true });
    else walk(below, (value as Record<string | number, Value>)[step], at, out);
  }
}

/** stepOf is the key or the index that a part of fieldsV1 means; undefined if the object has it no longer. */
export function stepOf(key: string, value: Value | undefined): string | number | undefined {
  if (value === null || typeof value !== "object") return undefined;
  const rest = key.slice(2);
  if (key.startsWith("f:")) return Object.hasOwn(value, rest) ? rest : undefined;
  if (!Array.isArray(value)) return undefined;
  const at = key.startsWith("i:") ? Number(rest) : value.findIndex(matcher(key[0]!, JSON.parse(rest) as Value));
  return at >= 0 && at < value.length ? at : undefined;
}

function matcher(form: string, wanted: Value): (item: Value) => boolean {
  if (form === "v") return (item) => JSON.stringify(item) === JSON.stringify(wanted);
  return (item) => item !== null && typeof item === "object" && Object.entries(wanted as Record<string, Value>).every(([k, v]) =>
    (item as Record<string, Value>)[k] === v || ((item as Record<string, Value>)[k] === undefined && k === "protocol" && v === "TCP"));
}
