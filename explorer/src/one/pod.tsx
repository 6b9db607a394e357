import type { Pod } from "../api/types";
import { Plain } from "../parts/plain";

/** ContainersTab is the table of a pod's containers. */
export function ContainersTab({ pod }: { pod: Pod }) {
  const statuses = new Map([...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? []), ...(pod.status?.ephemeralContainerStatuses ?? [])].map((s) => [s.name, s]));
  return (
    <Plain label="Containers" heads={["Container", "Image", "State", "Ready", "Restarts", "Ports"]}>
      {containersOf(pod).map(({ container, role }) => {
        const status = statuses.get(container.name);
        return (
          <tr key={container.name}>
            <td>{container.name}{role && <span class="soft"> ({role})</span>}</td>
            <td class="wrap mono">{container.image}</td>
            <td class="wrap">{stateOf(status?.state)}</td>
            <td>{status ? (status.ready ? "yes" : "no") : ""}</td>
            <td>{status?.restartCount ?? ""}</td>
            <td>{("ports" in container ? container.ports ?? [] : []).map((p) => `${p.containerPort}/${p.protocol ?? "TCP"}`).join(", ")}</td>
          </tr>
        );
      })}
    </Plain>
  );
}

export function containersOf(pod: Pod) {
  return [
    ...(pod.spec?.containers ?? []).map((container) => ({ container, role: "" })),
    ...(pod.spec?.initContainers ?? []).map((container) => ({ container, role: "init" })),
    ...(pod.spec?.ephemeralContainers ?? []).map((container) => ({ container, role: "ephemeral" })),
  ];
}

interface State {
  running?: { startedAt?: string };
  waiting?: { reason?: string; message?: string };
  terminated?: { reason?: string; exitCode?: number };
}

function stateOf(state: State | undefined): string {
  if (state?.running) return `running since ${state.running.startedAt ?? "an unknown time"}`;
  if (state?.waiting) return `waiting: ${state.waiting.reason ?? ""} ${state.waiting.message ?? ""}`;
  if (state?.terminated) return `ended with ${state.terminated.exitCode}: ${state.terminated.reason ?? ""}`;
  return "no status: no agent has reported this container";
}
