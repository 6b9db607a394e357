import { useId } from "preact/hooks";
import type { Kind } from "../api/discovery";
import { openapi } from "../api/openapi";
import { useLoad } from "../parts/load";
import type { Row } from "./rows";

interface Props {
  label: string;
  placeholder: string;
  value: string;
  candidates: string[];
  onChange: (value: string) => void;
}

/** SelectorField takes a selector, whose last part it completes. It counts when the field is left or Enter is pressed. */
export function SelectorField({ label, placeholder, value, candidates, onChange }: Props) {
  const list = useId();
  const begun = value.includes(",") ? value.slice(0, value.lastIndexOf(",") + 1) : "";
  return (
    <>
      <input type="text" aria-label={label} placeholder={placeholder} value={value} list={list} spellcheck={false} autocomplete="off" class="selector"
        onChange={(e) => onChange(e.currentTarget.value.trim())} />
      <datalist id={list}>{candidates.slice(0, 300).map((c) => <option key={c} value={begun + c} />)}</datalist>
    </>
  );
}

/** labelsOf are the labels that some of the rows have. */
export function labelsOf(rows: Row[]): string[] {
  const seen = new Set<string>();
  for (const row of rows.slice(0, 2000)) {
    for (const [key, value] of Object.entries(row.labels)) seen.add(`${key}=${value}`);
    if (seen.size > 300) break;
  }
  return [...seen].sort();
}

/** The fields of built-in kinds that the server selects by. Custom kinds say theirs in their documents. */
const builtin: Record<string, string[]> = {
  "/pods": ["spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP", "status.nominatedNodeName"],
  "/events": ["involvedObject.kind", "involvedObject.name", "involvedObject.namespace", "involvedObject.uid", "reason", "reportingComponent", "source", "type"],
  "/secrets": ["type"],
  "/namespaces": ["status.phase"],
  "/nodes": ["spec.unschedulable"],
  "/replicationcontrollers": ["status.replicas"],
  "apps/replicasets": ["status.replicas"],
  "batch/jobs": ["status.successful"],
  "certificates.k8s.io/certificatesigningrequests": ["spec.signerName"],
};

/** useFields are the beginnings of a kind's field selectors. */
export function useFields(kind: Kind): string[] {
  const custom = useLoad(async () => {
    const document = await openapi(kind.group, kind.version);
    const name = document.find(kind.group, kind.version, kind.kind);
    const fields = name ? (document.schemas[name] as { "x-kubernetes-selectable-fields"?: { fieldPath: string }[] })["x-kubernetes-selectable-fields"] : undefined;
    return (fields ?? []).map((f) => f.fieldPath.replace(/^\./, ""));
  }, [kind]).value ?? [];
  const always = kind.namespaced ? ["metadata.name", "metadata.namespace"] : ["metadata.name"];
  return [...always, ...(builtin[`${kind.group}/${kind.resource}`] ?? []), ...custom].map((f) => `${f}=`);
}
