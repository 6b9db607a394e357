import { json } from "../api/client";
import { type Kind, pathOf } from "../api/discovery";
import { Refusal } from "../api/status";
import type { KubeObject, Value } from "../api/types";
import { parsePath, type Path } from "../parts/source";
import type { Objection } from "./assist";
import { manager } from "./apply";

type Fields = Record<string, Value>;

export interface Target {
  kind: Kind;
  namespace: string;
  name: string;
}

/** apply sends a configuration; by force it takes over the fields of others. */
export function apply(t: Target, body: Fields, dry: boolean, force: boolean): Promise<KubeObject> {
  const query = { fieldManager: manager, fieldValidation: "Strict", dryRun: dry ? "All" : undefined, force: force || undefined };
  return json<KubeObject>(pathOf(t.kind, t.namespace, t.name), { method: "PATCH", type: "application/apply-patch+yaml", body, query });
}

/** replace sends the whole object. Its resourceVersion keeps it from overwriting a change that it does not know. */
export function replace(t: Target, body: Fields, version: string | undefined, dry: boolean): Promise<KubeObject> {
  const query = { fieldManager: manager, fieldValidation: "Strict", dryRun: dry ? "All" : undefined };
  const metadata = { ...(body.metadata as Fields | undefined), resourceVersion: version ?? null };
  return json<KubeObject>(pathOf(t.kind, t.namespace, t.name), { method: "PUT", body: { ...body, metadata }, query });
}

/** create sends a new object. */
export function create(kind: Kind, namespace: string, body: Fields, dry: boolean): Promise<KubeObject> {
  const query = { fieldManager: manager, fieldValidation: "Strict", dryRun: dry ? "All" : undefined };
  return json<KubeObject>(pathOf(kind, namespace), { method: "POST", body, query });
}

/** What the messages of rules begin with: the type of the value, and not the value. */
const ofRule = /^Invalid value: "(object|array|string|integer|number|boolean)": (?=.)/;

/** objectionsOf are the server's causes, with the fields that they are about. */
export function objectionsOf(error: unknown, value: Value): Objection[] {
  if (!(error instanceof Refusal)) return [];
  const causes = error.causes.filter((c) => c.field && c.reason !== "FieldManagerConflict").map((c) => ({ path: parsePath(c.field!, value), message: c.message?.replace(ofRule, "") ?? c.reason ?? "" }));
  const strict = [...error.message.matchAll(/(unknown|duplicate) field "([^"]+)"/g)].map(([, what, field]) => ({ path: parsePath(field!, value), message: `${what} field` }));
  const types = [...error.message.matchAll(/cannot unmarshal (\S+) into .*?field (\S+) of type (\S+)/g)].map(([, got, field, want]) => ({ path: parsePath(field!, value), message: `must be ${want}, not ${got}` }));
  return [...causes, ...strict, ...types];
}

export interface FieldConflict {
  path: Path;
  owner: string;
}

/** conflictsOf are the fields that other managers own. */
export function conflictsOf(error: unknown, value: Value): FieldConflict[] {
  if (!(error instanceof Refusal) || error.code !== 409) return [];
  return error.causes.filter((c) => c.reason === "FieldManagerConflict").map((c) => ({
    path: parsePath(c.field ?? "", value), owner: /conflict with "([^"]*)"/.exec(c.message ?? "")?.[1] ?? "another manager",
  }));
}

/** othersOf are those conflicts that are with others than the page. */
export function othersOf(error: unknown, value: Value): FieldConflict[] {
  return conflictsOf(error, value).filter((c) => c.owner !== manager);
}
