import { create } from "../edit/save";
import type { Kind } from "../api/discovery";
import { Refusal } from "../api/status";
import type { Schema } from "../api/openapi";
import type { Fields, KubeObject, Value } from "../api/types";
import type { Path } from "../parts/source";

/** Pasted is a definition that was pasted in, or one that was made around a bare schema. */
export interface Pasted {
  definition: Fields;
  around: Path; // the place of the bare schema in the definition; empty for a definition
  versions: { name: string; schema: Schema }[];
}

/** readPasted tells a definition from a schema. */
export function readPasted(value: Value): Pasted {
  const object = isFields(value) ? value : undefined;
  if (object?.kind === "CustomResourceDefinition" || (isFields(object?.spec) && "versions" in object.spec)) {
    return { definition: { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", ...object }, around: [], versions: versionsOf(object!) };
  }
  const schema = isFields(object?.openAPIV3Schema) ? object.openAPIV3Schema : object;
  if (!schema || !["type", "properties", "x-kubernetes-preserve-unknown-fields"].some((key) => key in schema)) {
    throw new Error("This is neither a CustomResourceDefinition nor a schema: a definition has spec.versions, a schema has type and properties.");
  }
  const around: Path = ["spec", "versions", 0, "schema", "openAPIV3Schema"];
  return { definition: wrap(schema), around: schema === object ? around : around.slice(0, -1), versions: [{ name: "v1", schema: schema as Schema }] };
}

function isFields(value: Value | undefined): value is Fields {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

function versionsOf(definition: Fields): Pasted["versions"] {
  const { versions } = definition.spec as { versions?: { name?: string; schema?: { openAPIV3Schema?: Schema } }[] };
  if (!Array.isArray(versions)) return [];
  return versions.filter((v) => v?.schema?.openAPIV3Schema).map((v) => ({ name: String(v.name), schema: v.schema!.openAPIV3Schema! }));
}

/** drawn is a name that no definition has. */
function drawn(): string {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((n) => String.fromCharCode(97 + (n % 26))).join("");
}

/** wrap makes a definition with a drawn name around a schema. */
function wrap(schema: Fields): Fields {
  const plural = `${drawn()}s`;
  const group = "check.example.com";
  return {
    apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition", metadata: { name: `${plural}.${group}` },
    spec: { group, scope: "Namespaced", names: { plural, kind: "Checked" }, versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } }] },
  };
}

/** Checked is the server's answer to a definition that it would take. */
export interface Checked {
  stored: KubeObject;
  renamed: boolean; // the server has a definition of this name: another group was checked
}

/** check asks the server whether it would take a definition. Nothing is stored. */
export async function check(kind: Kind, pasted: Pasted): Promise<Checked> {
  try {
    return { stored: await create(kind, "", pasted.definition, true), renamed: false };
  } catch (error) {
    if (!(error instanceof Refusal) || error.reason !== "AlreadyExists") throw error;
    return { stored: await create(kind, "", elsewhere(pasted.definition), true), renamed: true };
  }
}

/** elsewhere is the same definition in a group that no other is in. */
function elsewhere(definition: Fields): Fields {
  const spec = definition.spec as Fields;
  const group = `${drawn()}.${String(spec.group)}`;
  const plural = (spec.names as Fields | undefined)?.plural;
  return { ...definition, metadata: { ...(definition.metadata as Fields), name: `${String(plural)}.${group}`, resourceVersion: null, uid: null }, spec: { ...spec, group } };
}

/** inPasted moves a path of the definition to the text that was pasted in. Of a schema that all versions share the server speaks as spec.validation. */
export function inPasted(pasted: Pasted, path: Path): Path {
  if (path[0] === "spec" && path[1] === "validation") path = ["spec", "versions", 0, "schema", ...path.slice(2)];
  return pasted.around.every((step, i) => String(path[i]) === String(step)) ? path.slice(pasted.around.length) : [];
}

/** countRules counts the rules of a schema. */
export function countRules(schema: Schema): number {
  const below = [...Object.values(schema.properties ?? {}), schema.items, schema.additionalProperties].filter((s): s is Schema => typeof s === "object" && s !== null);
  return (schema["x-kubernetes-validations"]?.length ?? 0) + below.reduce((n, s) => n + countRules(s), 0);
}
