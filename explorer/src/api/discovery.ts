import { computed, signal } from "@preact/signals";
import { json, send } from "./client";

/** Kind is a resource of a group version, as discovery names it. */
export interface Kind {
  group: string; // "" for core
  version: string;
  resource: string; // plural
  kind: string;
  singular: string;
  short: string[];
  namespaced: boolean;
  verbs: string[];
  subresources: string[];
  preferred: boolean; // the group's first version that has the resource
}

/** kinds are all that the server serves; null before discovery has answered. */
export const kinds = signal<Kind[] | null>(null);
/** shownKinds has each resource once, in the version that its group prefers. */
export const shownKinds = computed(() => (kinds.value ?? []).filter((k) => k.preferred));

const aggregated = ["v2", "v2beta1"].map((v) => `application/json;g=apidiscovery.k8s.io;v=${v};as=APIGroupDiscoveryList`).join(",") + ",application/json";

interface GroupList {
  items: {
    metadata: { name?: string };
    versions: {
      version: string;
      resources?: {
        resource: string;
        responseKind?: { kind: string };
        scope: string;
        singularResource?: string;
        shortNames?: string[];
        verbs: string[];
        subresources?: { subresource: string }[];
      }[];
    }[];
  }[];
}

let lastTags = "";

/** discover reads what the server serves. Unchanged answers come from the browser's cache. */
export async function discover(): Promise<void> {
  const answers = await Promise.all(["/api", "/apis"].map((path) => send(path, { accept: aggregated, cache: "no-cache" })));
  const tags = answers.map((a) => a.headers.get("etag") ?? "").join(" ");
  const lists = (await Promise.all(answers.map((a) => a.json()))) as GroupList[];
  if (tags === lastTags && tags.length > 1 && kinds.value) return;
  lastTags = tags;
  kinds.value = lists.flatMap((list) => list.items.flatMap(kindsOf));
}

function kindsOf(group: GroupList["items"][number]): Kind[] {
  const seen = new Set<string>();
  return group.versions.flatMap(({ version, resources }) => (resources ?? []).map((r) => {
    const preferred = !seen.has(r.resource);
    seen.add(r.resource);
    return {
      group: group.metadata.name ?? "", version, resource: r.resource, kind: r.responseKind?.kind ?? r.resource, singular: r.singularResource ?? "",
      short: r.shortNames ?? [], namespaced: r.scope === "Namespaced", verbs: r.verbs, subresources: (r.subresources ?? []).map((s) => s.subresource), preferred,
    };
  }));
}

/** keepDiscovering asks again every ten seconds while the page is visible, until the signal ends it. */
export function keepDiscovering(end: AbortSignal): void {
  const timer = setInterval(() => {
    if (!document.hidden) discover().catch(() => undefined); // the next round may succeed
  }, 10_000);
  end.addEventListener("abort", () => clearInterval(timer));
}

const soon = [300, 700, 1500, 3000, 5000];

/** discoverSoon asks several times within some seconds: a definition was made, whose kind comes when its names are accepted. */
export async function discoverSoon(): Promise<void> {
  const before = kinds.value;
  for (const wait of soon) {
    await new Promise((done) => setTimeout(done, wait));
    await discover().catch(() => undefined); // the next round may succeed
    if (kinds.value !== before) return;
  }
}

/** makesKinds tells whether objects of a kind make other kinds. */
export function makesKinds(k: Kind): boolean {
  return k.resource === "customresourcedefinitions" || k.resource === "apiservices";
}

/** forgetKinds is for a log-out. */
export function forgetKinds(): void {
  kinds.value = null;
  lastTags = "";
}

/** apiVersion is the field of objects of a kind. */
export function apiVersion(k: { group: string; version: string }): string {
  return k.group ? `${k.group}/${k.version}` : k.version;
}

/** findKind finds the kind of an apiVersion and the name of a kind, as in an owner reference. */
export function findKind(version: string | undefined, kind: string | undefined): Kind | undefined {
  return kinds.value?.find((k) => apiVersion(k) === version && k.kind === kind);
}

/** findResource finds a kind by its group, version and plural name. */
export function findResource(group: string, version: string, resource: string): Kind | undefined {
  return kinds.value?.find((k) => k.group === group && k.version === version && k.resource === resource);
}

/** pathOf is the path of a kind's objects, or of one of them. Without a namespace it is that of all namespaces. */
export function pathOf(k: Kind, namespace?: string, name?: string, subresource?: string): string {
  const parts = k.group ? ["apis", k.group, k.version] : ["api", k.version];
  if (k.namespaced && namespace) parts.push("namespaces", namespace);
  parts.push(k.resource);
  if (name) parts.push(name);
  if (subresource) parts.push(subresource);
  return "/" + parts.map(encodeURIComponent).join("/");
}

/** serverVersion is the release that the server answers with. */
export async function serverVersion(): Promise<string> {
  return (await json<{ gitVersion?: string }>("/version")).gitVersion ?? "";
}
