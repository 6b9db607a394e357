import { when } from "../parts/age";
import { Failure } from "../parts/notice";
import { Plain } from "../parts/plain";
import type { Part, SlowRequest, SlowRequests } from "./monitor";
import { bytes, duration } from "./units";

/** Slow lists the requests that took long. */
export function Slow({ part }: { part: Part<SlowRequests> }) {
  const { value, error, absent } = part;
  return (
    <section aria-labelledby="slow" class="stack">
      <h2 id="slow">Slow requests</h2>
      <Failure error={error} />
      {absent && <p class="soft">This server keeps none (--slow-requests=0), or is older than this page.</p>}
      {value && <p class="soft">The last that took {duration(value.thresholdSeconds)} or more (--slow-request-threshold). Watches are none of them.</p>}
      {value && !value.requests.length && <p role="status">There was none since the server began.</p>}
      {!!value?.requests.length && (
        <Plain label="Slow requests" heads={["Begin", "Took", "Of it waiting", "Verb", "What", "Path", "User", "Code", "Size"]}>
          {value.requests.map((r) => (
            <tr key={r.time + r.path}>
              <td>{when(r.time)}</td>
              <td class="number">{duration(r.durationSeconds)}</td>
              <td class="number">{r.queuedSeconds > 0 ? duration(r.queuedSeconds) : ""}</td>
              <td>{r.verb}</td>
              <td>{what(r)}</td>
              <td class="mono wrap">{r.path}{r.options && <span class="soft">?{r.options.join("&")}</span>}</td>
              <td class="wrap">{r.user}</td>
              <td class={r.code >= 500 || r.code === 0 ? "bad-text" : ""}>{r.code || "none: the client was gone"}</td>
              <td class="number">{bytes(r.bytes)}</td>
            </tr>
          ))}
        </Plain>
      )}
    </section>
  );
}

function what(r: SlowRequest): string {
  if (!r.resource) return "";
  return `${r.resource}${r.subresource ? `/${r.subresource}` : ""}${r.group ? `.${r.group}` : ""}`;
}
