import { age } from "../parts/age";
import { quantile, type Sample } from "./metrics";
import { show } from "./units";

const lasting = new Set(["WATCH", "CONNECT"]);

/** Glance has the figures that one looks at first. */
export function Glance({ now, before }: { now: Sample; before: Sample | undefined }) {
  const seconds = before ? Math.max((now.at - before.at) / 1000, 0.001) : 0;
  const grown = now.since(before, "apiserver_request_total");
  const rate = (metrics: { value: number }[]) => (before ? show(metrics.reduce((n, m) => n + m.value, 0) / seconds, "rate") : "…");
  const p99 = before ? quantile(0.99, now.since(before, "apiserver_request_duration_seconds_bucket").filter((m) => !lasting.has(m.labels.verb ?? ""))) : undefined;
  const objects = now.of("apiserver_storage_objects").reduce((n, m) => n + Math.max(m.value, 0), 0); // -1 for what cannot be counted
  const healthy = now.sum("capstan_store_healthy") > 0;
  const figures: [string, string][] = [
    ["Requests", rate(grown)],
    ["Failures (5xx)", rate(grown.filter((m) => (m.labels.code ?? "") >= "500"))],
    ["Time, p99", before ? show(p99, "seconds") : "…"],
    ["Under way", show(now.sum("apiserver_current_inflight_requests"), "count")],
    ["Waiting", show(now.sum("apiserver_flowcontrol_current_inqueue_requests"), "count")],
    ["Watches", show(now.of("apiserver_longrunning_requests").filter((m) => m.labels.verb === "WATCH").reduce((n, m) => n + m.value, 0), "count")],
    ["Objects", show(objects, "count")],
    ["Store", show(now.sum("capstan_store_disk_bytes"), "bytes")],
    ["Memory", show(now.sum("process_resident_memory_bytes"), "bytes")],
    ["Up", age(now.sum("process_start_time_seconds") * 1000)],
  ];
  return (
    <section aria-label="At a glance" class="stack">
      <dl class="figures">
        {figures.map(([title, value]) => <div key={title}><dt>{title}</dt><dd>{value}</dd></div>)}
        <div class={healthy ? "" : "bad"}><dt>Store writes</dt><dd>{healthy ? "yes" : "no"}</dd></div>
      </dl>
    </section>
  );
}
