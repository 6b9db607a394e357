import { computed, signal } from "@preact/signals";
import { route } from "./route";
import { json } from "./api/client";

/** namespace is the one that is looked at; "" for all. The address has it, so that links keep it. */
export const namespace = computed(() => route.value.query.get("ns") ?? lastNamespace.value);
/** lastNamespace is for addresses that name none. */
export const lastNamespace = signal("");

/** namespaces are those that the user may see. */
export const namespaces = signal<string[]>([]);

interface Names {
  items: { metadata: { name: string } }[];
}

/** readNamespaces lists them. Users who may not list them type the name of theirs. */
export async function readNamespaces(): Promise<void> {
  const accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
  try {
    const { items } = await json<Names>("/api/v1/namespaces", { accept, query: { limit: 5000 } });
    namespaces.value = items.map((i) => i.metadata.name);
  } catch {
    namespaces.value = [];
  }
}
