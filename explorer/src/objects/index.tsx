import { useEffect, useRef } from "preact/hooks";
import { findResource, type Kind, kinds } from "../api/discovery";
import { Lazy } from "../parts/lazy";
import { Notice } from "../parts/notice";
import type { Module, Route } from "../route";
import { lastNamespace, namespace } from "../state";
import { Groups } from "./groups";
import { ObjectsTable } from "./view";

const one = () => import("../one").then((m) => m.One);
const create = () => import("../edit/create").then((m) => m.Create);

/** Objects leads from an address to the kinds, the table of a kind, one object, or a new one. */
function Objects({ route }: { route: Route }) {
  const [, group = "core", version = "v1", resource = "namespaces", where, name] = route.parts;
  const kind = useKind(group === "core" ? "" : group, version, resource);
  useEffect(() => { lastNamespace.value = namespace.value; }, [namespace.value]);
  if (!kinds.value) return <main class="page"><p class="soft" role="status">Asking the server what it serves…</p></main>;
  return (
    <>
      <Groups here={kind} />
      {!kind ? <main class="page"><Missing resource={resource} group={group} version={version} fallback={route.parts.length < 4} /></main>
        : name !== undefined ? <Lazy key={location.hash.split("?")[0]!} load={one} props={{ kind, namespace: where === "-" ? "" : where!, name, tab: route.query.get("tab") ?? "yaml" }} />
        : where === "new" ? <Lazy key={`${resource} new`} load={create} props={{ kind, namespace: namespace.value }} />
        : <ObjectsTable kind={kind} namespace={kind.namespaced ? namespace.value : ""} labels={route.query.get("labels") ?? ""} fields={route.query.get("fields") ?? ""} />}
    </>
  );
}

/** useKind finds a kind, and keeps it when it is served no longer: its table is still in view. */
function useKind(group: string, version: string, resource: string): Kind | undefined {
  const kept = useRef<Kind | undefined>(undefined);
  const found = findResource(group, version, resource);
  if (found) kept.current = found;
  const last = kept.current;
  return found ?? (last && last.group === group && last.version === version && last.resource === resource ? last : undefined);
}

function Missing({ resource, group, version, fallback }: { resource: string; group: string; version: string; fallback: boolean }) {
  if (fallback) return <Notice>Choose a kind from the list, or press <kbd>:</kbd> and type some letters of its name.</Notice>;
  return <Notice kind="warn">This server has no resource {resource} in {group}/{version}. If a definition makes it, this page shows it within seconds of its creation.</Notice>;
}

export const objects: Module = { title: "Objects", key: "1", path: "objects", View: Objects };
