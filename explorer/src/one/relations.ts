import { json } from "../api/client";
import { apiVersion, findKind, findResource, type Kind, pathOf, shownKinds } from "../api/discovery";
import { rulesOf } from "../api/rights";
import type { KubeObject, ObjectMeta, OwnerReference, Value } from "../api/types";

/** Relative is an object of the picture. Rank 0 is the object itself; owners are above it, objects that it owns below. */
export interface Relative {
  id: string;
  kind: string;
  name: string;
  namespace: string;
  resource?: Kind;
  rank: number;
}

export interface Edge {
  from: string;
  to: string;
  why: "owns" | "uses";
}

export interface Relations {
  nodes: Relative[];
  edges: Edge[];
  partial: boolean; // not all objects of the namespace were looked at
}

interface Partial {
  metadata: ObjectMeta;
}

const asMetadata = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";

/** relationsOf finds owners, owned objects and references of an object. */
export async function relationsOf(object: KubeObject, kind: Kind, signal: AbortSignal): Promise<Relations> {
  const namespace = object.metadata.namespace ?? "";
  const out: Relations = { nodes: [node(object.metadata, kind, 0)], edges: [], partial: false };
  await owners(out, object.metadata, out.nodes[0]!, namespace, signal);
  if (namespace) await owned(out, object.metadata, namespace, signal);
  for (const ref of references(object)) use(out, ref, namespace, kind);
  await selected(out, object, namespace, signal);
  return out;
}

function node(m: ObjectMeta, kind: Kind, rank: number): Relative {
  return { id: m.uid ?? "", kind: kind.kind, name: m.name ?? "", namespace: kind.namespaced ? m.namespace ?? "" : "", resource: kind, rank };
}

async function owners(out: Relations, m: ObjectMeta, below: Relative, namespace: string, signal: AbortSignal): Promise<void> {
  for (const ref of m.ownerReferences ?? ([] as OwnerReference[])) {
    out.edges.push({ from: ref.uid, to: below.id, why: "owns" });
    if (out.nodes.some((n) => n.id === ref.uid) || out.nodes.length > 50) continue;
    const kind = findKind(ref.apiVersion, ref.kind);
    const owner: Relative = { id: ref.uid, kind: ref.kind, name: ref.name, namespace: kind?.namespaced ? namespace : "", resource: kind, rank: below.rank - 1 };
    out.nodes.push(owner);
    const above = kind && (await json<KubeObject>(pathOf(kind, namespace, ref.name), { signal }).catch(() => undefined));
    if (above && above.metadata.uid === ref.uid) await owners(out, above.metadata, owner, namespace, signal);
  }
}

/** owned looks at the metadata of the namespace's objects of all kinds that the user may list. */
async function owned(out: Relations, root: ObjectMeta, namespace: string, signal: AbortSignal): Promise<void> {
  const rules = await rulesOf(namespace);
  const kinds = shownKinds.value.filter((k) => k.namespaced && k.verbs.includes("list") && k.resource !== "events" && rules.may("list", k));
  const children = new Map<string, { m: ObjectMeta; kind: Kind }[]>();
  const queue = [...kinds];
  const work = async () => {
    for (let kind = queue.pop(); kind; kind = queue.pop()) {
      const list = await json<{ metadata: { continue?: string }; items: Partial[] }>(pathOf(kind, namespace), { accept: asMetadata, query: { limit: 1000 }, signal }).catch(() => undefined);
      if (list?.metadata.continue) out.partial = true;
      for (const { metadata } of list?.items ?? []) {
        for (const ref of metadata.ownerReferences ?? []) children.set(ref.uid, [...(children.get(ref.uid) ?? []), { m: metadata, kind }]);
      }
    }
  };
  await Promise.all(Array.from({ length: 6 }, work));
  const descend = (uid: string, rank: number) => {
    for (const { m, kind } of children.get(uid) ?? []) {
      out.edges.push({ from: uid, to: m.uid!, why: "owns" });
      if (out.nodes.some((n) => n.id === m.uid)) continue;
      if (out.nodes.length >= 120) { out.partial = true; return; }
      out.nodes.push(node(m, kind, rank));
      descend(m.uid!, rank + 1);
    }
  };
  descend(root.uid ?? "", 1);
}

interface Reference {
  resource: string;
  name: string;
}

/** The keys of specs that name objects of the core group, with the key of the name in them; "" if the value is the name. */
const named: Record<string, [resource: string, key: string]> = {
  configMapRef: ["configmaps", "name"], configMapKeyRef: ["configmaps", "name"], configMap: ["configmaps", "name"],
  secretRef: ["secrets", "name"], secretKeyRef: ["secrets", "name"], secret: ["secrets", "secretName"], secretName: ["secrets", ""],
  serviceAccountName: ["serviceaccounts", ""], persistentVolumeClaim: ["persistentvolumeclaims", "claimName"],
  claimRef: ["persistentvolumeclaims", "name"], volumeName: ["persistentvolumes", ""], nodeName: ["nodes", ""], serviceName: ["services", ""], service: ["services", "name"],
};

function references(object: KubeObject): Reference[] {
  const found = new Map<string, Reference>();
  const walk = (value: Value | undefined, depth: number) => {
    if (value === null || typeof value !== "object" || depth > 16 || found.size > 40) return;
    for (const [key, v] of Object.entries(value)) {
      const rule = Array.isArray(value) ? undefined : named[key];
      const name = rule && (rule[1] ? (v as Record<string, Value> | null)?.[rule[1]] : v);
      if (rule && typeof name === "string" && name) found.set(`${rule[0]}/${name}`, { resource: rule[0], name });
      walk(v, depth + 1);
    }
  };
  walk(object.spec as Value, 0);
  for (const s of [...((object.secrets ?? []) as { name?: string }[])]) if (s.name) found.set(`secrets/${s.name}`, { resource: "secrets", name: s.name });
  return [...found.values()];
}

function use(out: Relations, ref: Reference, namespace: string, from: Kind): void {
  const kind = findResource("", "v1", ref.resource);
  const id = `${ref.resource}/${ref.name}`;
  if (!kind || (from.resource === ref.resource && from.group === "" && out.nodes[0]!.name === ref.name)) return;
  out.nodes.push({ id, kind: kind.kind, name: ref.name, namespace: kind.namespaced ? namespace : "", resource: kind, rank: 0 });
  out.edges.push({ from: out.nodes[0]!.id, to: id, why: "uses" });
}

/** selected finds the pods of a service. */
async function selected(out: Relations, object: KubeObject, namespace: string, signal: AbortSignal): Promise<void> {
  const selector = (object.spec as { selector?: Record<string, string> } | undefined)?.selector;
  const pods = findResource("", "v1", "pods");
  const first = out.nodes[0]!;
  if (first.resource?.resource !== "services" || apiVersion(first.resource) !== "v1" || !selector || !pods) return;
  const labelSelector = Object.entries(selector).map(([k, v]) => `${k}=${v}`).join(",");
  const list = await json<{ metadata: { continue?: string }; items: Partial[] }>(pathOf(pods, namespace), { accept: asMetadata, query: { labelSelector, limit: 50 }, signal }).catch(() => undefined);
  if (list?.metadata.continue) out.partial = true;
  for (const { metadata } of list?.items ?? []) {
    out.nodes.push(node(metadata, pods, 1));
    out.edges.push({ from: first.id, to: metadata.uid!, why: "uses" });
  }
}
