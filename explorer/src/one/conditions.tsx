import type { KubeObject } from "../api/types";
import { when } from "../parts/age";

interface Condition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
  lastUpdateTime?: string;
}

/** conditionsOf are the conditions of an object's status; none for kinds without them. */
export function conditionsOf(object: KubeObject): Condition[] {
  const list = (object.status as { conditions?: unknown } | undefined)?.conditions;
  return Array.isArray(list) ? (list as Condition[]).filter((c) => c !== null && typeof c === "object") : [];
}

/** ConditionsTab shows the conditions in the order in which they changed, the last change first. */
export function ConditionsTab({ object }: { object: KubeObject }) {
  const time = (c: Condition) => c.lastTransitionTime ?? c.lastUpdateTime ?? "";
  const list = conditionsOf(object).sort((a, b) => time(b).localeCompare(time(a)));
  if (!list.length) return <p class="soft">The object has no conditions.</p>;
  return (
    <ol class="timeline">
      {list.map((c) => (
        <li key={c.type} class={c.status === "True" ? "true" : c.status === "False" ? "false" : "unknown"}>
          <h3>{String(c.type)} <span class="soft">is {String(c.status)}</span></h3>
          <p class="soft">{when(time(c)) || "time unknown"}{c.reason && ` · ${c.reason}`}</p>
          {c.message && <p class="wrap">{c.message}</p>}
        </li>
      ))}
    </ol>
  );
}
