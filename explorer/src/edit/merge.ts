import type { Schema } from "../api/openapi";
import type { Value } from "../api/types";
import type { Path } from "../parts/source";
import { equal, keysOf, same } from "./apply";
import type { KindSchema } from "./schema";

type Fields = Record<string, Value>;

/** Clash is a field that two people changed to different values; an absent value is one that was removed. */
export interface Clash {
  path: Path;
  yours?: Value;
  theirs?: Value;
  owner?: string;
}

export interface Merged {
  value: Value;
  clashes: Clash[]; // in the value they have yours
}

/** Fields that only the server writes are always theirs. */
const serverFields = new Set(["metadata/managedFields", "metadata/resourceVersion", "metadata/generation", "metadata/uid", "metadata/creationTimestamp", "status"]);

/** merge joins two changes of one object. */
export function merge(base: Value, yours: Value, theirs: Value, schema: KindSchema | undefined): Merged {
  const clashes: Clash[] = [];
  const value = join(base, yours, theirs, schema?.root, schema, [], clashes) as Value;
  return { value, clashes };
}

function join(base: Value | undefined, yours: Value | undefined, theirs: Value | undefined, s: Schema | undefined, schema: KindSchema | undefined, path: Path, clashes: Clash[]): Value | undefined {
  if (serverFields.has(path.join("/"))) return theirs;
  if (equal(yours, theirs) || equal(base, yours)) return theirs;
  if (equal(base, theirs)) return yours;
  if (isFields(yours) && isFields(theirs) && s?.["x-kubernetes-map-type"] !== "atomic") {
    const before = isFields(base) ? base : {};
    const out: Fields = {};
    for (const key of new Set([...Object.keys(theirs), ...Object.keys(yours)])) {
      const v = join(before[key], yours[key], theirs[key], s && schema?.below(s, key), schema, [...path, key], clashes);
      if (v !== undefined) out[key] = v;
    }
    return out;
  }
  const keys = keysOf(s);
  if (keys && Array.isArray(yours) && Array.isArray(theirs)) {
    const find = (list: Value | undefined, item: Value) => (Array.isArray(list) ? list.find((o) => same(o, item, keys)) : undefined);
    const all = [...yours, ...theirs.filter((t) => find(yours, t) === undefined)];
    return all.flatMap((item, i) => {
      const v = join(find(base, item), find(yours, item), find(theirs, item), s && schema?.below(s, 0), schema, [...path, i], clashes);
      return v === undefined ? [] : [v];
    });
  }
  clashes.push({ path, yours, theirs });
  return yours;
}

function isFields(v: Value | undefined): v is Fields {
  return v !== null && typeof v === "object" && !Array.isArray(v);
}

/** at reads the value of a field. */
export function at(value: Value | undefined, path: Path): Value | undefined {
  let v = value;
  for (const step of path) v = v !== null && typeof v === "object" ? (v as Record<string | number, Value>)[step] : undefined;
  return v;
}

/** put is a value in which one field is another; undefined removes it. */
export function put(value: Value | undefined, path: Path, field: Value | undefined): Value {
  const [step, ...rest] = path;
  if (step === undefined) return field ?? null;
  if (typeof step === "number" || Array.isArray(value)) {
    const list = Array.isArray(value) ? [...value] : [];
    const i = Number(step);
    if (!rest.length && field === undefined) list.splice(i, 1);
    else list[i] = put(list[i], rest, field);
    return list;
  }
  const out: Fields = isFields(value) ? { ...value } : {};
  if (!rest.length && field === undefined) delete out[step];
  else out[step] = put(out[step], rest, field);
  return out;
}
