import { json } from "../api/client";
import type { EndpointSlice, KubeObject } from "../api/types";
import { useLoad } from "../parts/load";
import { Failure } from "../parts/notice";
import { Plain } from "../parts/plain";

/** EndpointsTab lists the addresses behind a service. */
export function EndpointsTab({ object }: { object: KubeObject }) {
  const { name, namespace } = object.metadata;
  const { value, error, again } = useLoad(async (signal) => {
    const query = { labelSelector: `kubernetes.io/service-name=${name}` };
    return (await json<{ items: EndpointSlice[] }>(`/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`, { query, signal })).items;
  }, [object]);
  if (error) return <Failure error={error} retry={again} />;
  const rows = (value ?? []).flatMap((slice) => (slice.endpoints ?? []).map((e) => ({ slice, e })));
  if (value && !rows.length) return <p class="soft">No endpoints: a controller writes them when ready pods have the labels of the service’s selector.</p>;
  return (
    <Plain label="Endpoints" heads={["Addresses", "Ports", "Ready", "Target", "Node"]}>
      {rows.map(({ slice, e }, i) => (
        <tr key={i}>
          <td class="mono">{e.addresses.join(", ")}</td>
          <td>{(slice.ports ?? []).map((p) => `${p.name ? p.name + " " : ""}${p.port}/${p.protocol ?? "TCP"}`).join(", ")}</td>
          <td>{e.conditions?.ready === false ? "no" : "yes"}</td>
          <td>{e.targetRef ? `${e.targetRef.kind} ${e.targetRef.name}` : ""}</td>
          <td>{e.nodeName}</td>
        </tr>
      ))}
    </Plain>
  );
}
