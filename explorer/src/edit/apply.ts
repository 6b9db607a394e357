import type { Schema } from "../api/openapi";
import type { KubeObject, Value } from "../api/types";
import { type Tree, stepOf } from "../one/owners";
import type { Path } from "../parts/source";
import type { KindSchema } from "./schema";

export const manager = "capstan-explorer";

type Fields = Record<string, Value>;

/** Configuration is what is applied: the fields that the user changed, and those that an earlier apply of the page owns. */
export interface Configuration {
  body: Fields;
  removed: Path[]; // fields of others that the user took away, which an apply cannot do
}

/** configuration compares the object as it was with the text. */
export function configuration(base: KubeObject, edited: Fields, schema: KindSchema | undefined): Configuration {
  const removed: Path[] = [];
  const tree = ownTree(base);
  const changed = (difference(base as unknown as Value, edited, schema?.root, schema, tree, [], removed) ?? {}) as Fields;
  const owned = tree ? extract(tree, edited) as Fields : {};
  const body = union(owned, changed, schema?.root, schema) as Fields;
  const metadata = { ...(body.metadata as Fields | undefined) };
  for (const field of ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"]) delete metadata[field];
  const { name, namespace } = base.metadata;
  return { body: { ...body, apiVersion: edited.apiVersion!, kind: edited.kind!, metadata: { ...metadata, name: name!, ...(namespace ? { namespace } : {}) } }, removed };
}

/** ownTree has the fields of the last apply of the page. */
function ownTree(base: KubeObject): Tree | undefined {
  const entry = base.metadata.managedFields?.find((m) => m.manager === manager && m.operation === "Apply" && !m.subresource);
  return entry?.fieldsV1 as Tree | undefined;
}

function isFields(v: Value | undefined): v is Fields {
  return v !== null && typeof v === "object" && !Array.isArray(v);
}

/** keysOf are the keys by which items of a list are the same; undefined for lists that are owned as a whole. */
export function keysOf(s: Schema | undefined): string[] | undefined {
  if (s?.["x-kubernetes-list-map-keys"]) return s["x-kubernetes-list-map-keys"];
  const key = s?.["x-kubernetes-patch-merge-key"];
  return key && s["x-kubernetes-patch-strategy"]?.includes("merge") ? [key] : undefined;
}

function isSet(s: Schema | undefined): boolean {
  return s?.["x-kubernetes-list-type"] === "set" || (!!s?.["x-kubernetes-patch-strategy"]?.includes("merge") && !s["x-kubernetes-patch-merge-key"]);
}

/** same tells whether two items have the same keys. A missing protocol is TCP. */
export function same(a: Value, b: Value, keys: string[]): boolean {
  const key = (v: Value, k: string) => (v as Fields | null)?.[k] ?? (k === "protocol" ? "TCP" : undefined);
  return keys.every((k) => key(a, k) === key(b, k));
}

export function equal(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((v, i) => equal(v, b[i]));
  if (!isFields(a) || !isFields(b)) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((k) => equal(a[k], b[k]));
}

function difference(base: Value, edited: Value, s: Schema | undefined, schema: KindSchema | undefined, own: Tree | undefined, path: Path, removed: Path[]): Value | undefined {
  if (equal(base, edited)) return undefined;
  if (isFields(base) && isFields(edited) && s?.["x-kubernetes-map-type"] !== "atomic") {
    const out: Fields = {};
    for (const key of Object.keys(base)) {
      if (!(key in edited) && !own?.[`f:${key}`] && !(path.length === 1 && path[0] === "metadata" && key === "managedFields")) removed.push([...path, key]);
    }
    for (const [key, value] of Object.entries(edited)) {
      const below = s && schema?.below(s, key);
      const d = key in base ? difference(base[key]!, value, below, schema, own?.[`f:${key}`], [...path, key], removed) : value;
      if (d !== undefined) out[key] = d;
    }
    return Object.keys(out).length ? out : undefined;
  }
  if (Array.isArray(base) && Array.isArray(edited)) return listDifference(base, edited, s, schema, own, path, removed);
  return edited;
}

function listDifference(base: Value[], edited: Value[], s: Schema | undefined, schema: KindSchema | undefined, own: Tree | undefined, path: Path, removed: Path[]): Value | undefined {
  const keys = keysOf(s);
  if (keys) {
    const mine = (item: Value) => Object.keys(own ?? {}).some((k) => stepOf(k, [item]) === 0);
    base.forEach((item, i) => { if (!edited.some((e) => same(e, item, keys)) && !mine(item)) removed.push([...path, i]); });
    const out = edited.flatMap((item) => {
      const before = base.find((b) => same(b, item, keys));
      if (before === undefined) return [item];
      const tree = Object.entries(own ?? {}).find(([k]) => stepOf(k, [item]) === 0)?.[1];
      const d = difference(before, item, s && schema?.below(s, 0), schema, tree, [...path, base.indexOf(before)], removed);
      return isFields(d) ? [{ ...pick(item, keys), ...d }] : [];
    });
    return out.length ? out : undefined;
  }
  if (isSet(s)) {
    base.forEach((item, i) => { if (!edited.some((e) => equal(e, item)) && !own?.[`v:${JSON.stringify(item)}`]) removed.push([...path, i]); });
    const out = edited.filter((e) => !base.some((b) => equal(b, e)));
    return out.length ? out : undefined;
  }
  return edited;
}

function pick(item: Value, keys: string[]): Fields {
  return Object.fromEntries(keys.filter((k) => (item as Fields)[k] !== undefined).map((k) => [k, (item as Fields)[k]!]));
}

/** extract takes from a value the fields of a tree. */
function extract(tree: Tree, value: Value): Value {
  if (Array.isArray(value)) {
    return Object.entries(tree).flatMap(([key, below]) => {
      if (key === ".") return [];
      const at = stepOf(key, value);
      if (typeof at !== "number") return [];
      const item = value[at]!;
      if (key.startsWith("v:") || !Object.keys(below).length) return [item];
      return [{ ...(JSON.parse(key.slice(2)) as Fields), ...(extract(below, item) as Fields) }];
    });
  }
  if (!isFields(value)) return value;
  const out: Fields = {};
  for (const [key, below] of Object.entries(tree)) {
    const name = stepOf(key, value);
    if (typeof name !== "string") continue;
    const leaf = !Object.keys(below).filter((k) => k !== ".").length;
    out[name] = leaf ? value[name]! : extract(below, value[name]!);
  }
  return out;
}

/** union is all fields of both, of which b's are newer. */
function union(a: Value, b: Value, s: Schema | undefined, schema: KindSchema | undefined): Value {
  if (isFields(a) && isFields(b)) {
    const out: Fields = { ...a };
    for (const [key, value] of Object.entries(b)) out[key] = key in a ? union(a[key]!, value, s && schema?.below(s, key), schema) : value;
    return out;
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    const keys = keysOf(s);
    if (keys) {
      const merged = a.map((item) => {
        const other = b.find((o) => same(o, item, keys));
        return other === undefined ? item : union(item, other, s && schema?.below(s, 0), schema);
      });
      return [...merged, ...b.filter((o) => !a.some((item) => same(o, item, keys)))];
    }
    if (isSet(s)) return [...a, ...b.filter((o) => !a.some((item) => equal(item, o)))];
  }
  return b;
}
