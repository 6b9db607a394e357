import { age } from "../parts/age";
import { Failure } from "../parts/notice";
import { Plain } from "../parts/plain";
import { type Sample, sumBy } from "./metrics";
import type { Part } from "./monitor";
import { type Cells, queuedOf } from "./queues";

/** most bounds the flows that are listed. */
const most = 50;

/** Fairness shows the priority levels, and whose requests wait at them. */
export function Fairness({ levels, queued, now }: { levels: Part<Cells[]>; queued: Part<Cells[]>; now: Sample | undefined }) {
  const used = sumBy(now?.of("apiserver_flowcontrol_request_concurrency_in_use") ?? [], "priority_level");
  const seats = sumBy(now?.of("apiserver_flowcontrol_request_concurrency_limit") ?? [], "priority_level");
  const waiting = queuedOf(queued.value ?? []);
  return (
    <section aria-labelledby="fairness" class="stack">
      <h2 id="fairness">Priority and fairness</h2>
      <Failure error={levels.error ?? queued.error} />
      {levels.absent && <p class="soft">This server bounds reading and writing requests instead (--enable-priority-and-fairness=false).</p>}
      {levels.value && (
        <Plain label="Priority levels" heads={["Level", "Seats in use", "Seats", "Running", "Waiting", "Queues in use"]}>
          {levels.value.map((l) => (
            <tr key={l.PriorityLevelName}>
              <td>{l.PriorityLevelName}</td>
              <td class="number">{used.get(l.PriorityLevelName!)}</td>
              <td class="number">{seats.get(l.PriorityLevelName!)}</td>
              <td class="number">{count(l.ExecutingRequests)}</td>
              <td class={Number(l.WaitingRequests) > 0 ? "number warn-text" : "number"}>{count(l.WaitingRequests)}</td>
              <td class="number">{count(l.ActiveQueues)}</td>
            </tr>
          ))}
        </Plain>
      )}
      {levels.value && <h3>Who waits</h3>}
      {queued.value && !waiting.length && <p role="status">Nobody.</p>}
      {waiting.length > 0 && (
        <Plain label="Who waits" heads={["Level", "Flow schema", "Flow", "Requests", "Oldest", "For example"]}>
          {waiting.slice(0, most).map((q) => (
            <tr key={`${q.level} ${q.schema} ${q.flow}`}>
              <td>{q.level}</td>
              <td>{q.schema}</td>
              <td class="wrap">{q.flow}</td>
              <td class="number">{q.requests}</td>
              <td>{age(q.oldest)}</td>
              <td class="mono wrap">{q.example}</td>
            </tr>
          ))}
        </Plain>
      )}
      {waiting.length > most && <p class="soft">And {waiting.length - most} flows more.</p>}
    </section>
  );
}

/** count is a number of a dump; the exempt level has none. */
function count(text: string | undefined): string {
  return text === "<none>" ? "no bound" : text ?? "";
}
