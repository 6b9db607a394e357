import { Plain } from "../parts/plain";
import { webhooksOf } from "./figures";
import type { Sample } from "./metrics";
import { show } from "./units";

/** Webhooks lists the admission webhooks that have been called, with their failures. */
export function Webhooks({ now, before }: { now: Sample; before: Sample | undefined }) {
  const all = webhooksOf(now, before);
  return (
    <section aria-labelledby="webhooks" class="stack">
      <h2 id="webhooks">Webhooks</h2>
      {!all.length && <p role="status">No admission webhook has been called since the server began.</p>}
      {all.length > 0 && (
        <Plain label="Webhooks" heads={["Webhook", "It", "Calls", "Writes refused", "Calls failed", "Failed and ignored", "Time, p99"]}>
          {all.map((w) => (
            <tr key={w.name + w.type}>
              <td class="wrap">{w.name}</td>
              <td>{w.type}</td>
              <td class="number">{show(w.calls, "count")}</td>
              <td class="number">{show(w.refused, "count")}</td>
              <td class={w.failed > 0 ? "number bad-text" : "number"}>{show(w.failed, "count")}</td>
              <td class={w.ignored > 0 ? "number warn-text" : "number"}>{show(w.ignored, "count")}</td>
              <td class="number">{show(w.last, "seconds")}</td>
            </tr>
          ))}
        </Plain>
      )}
      {all.length > 0 && <p class="soft">Since the server began; the time is of the last seconds. A failure that is ignored lets the write go on without the webhook (failurePolicy: Ignore).</p>}
    </section>
  );
}
