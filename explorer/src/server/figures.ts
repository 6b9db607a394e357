import { type Metric, quantile, Sample, sumBy } from "./metrics";

/** Values are the newest values of a plot, by the names of its lines. */
export type Values = Map<string, number>;

/** Plotted is what a plot shows. */
export interface Plotted {
  id: string;
  title: string;
  unit: Unit;
  help?: string;
  read: (now: Sample, before: Sample | undefined) => Values | undefined; // undefined while there is one sample only
}

export type Unit = "rate" | "seconds" | "bytes" | "count" | "cores";

const reads = new Set(["GET", "LIST"]);
const writes = new Set(["POST", "PUT", "PATCH", "APPLY", "DELETE"]);

/** rates are the growths of a family's counters in a second, added up by a label. */
function rates(name: string, by: Parameters<typeof sumBy>[1], where: (labels: Metric["labels"]) => boolean = () => true): Plotted["read"] {
  return (now, before) => before && perSecond(now, before, sumBy(now.since(before, name).filter((m) => where(m.labels)), by));
}

function perSecond(now: Sample, before: Sample, grown: Values): Values {
  const seconds = Math.max((now.at - before.at) / 1000, 0.001);
  return new Map([...grown].map(([key, value]) => [key, value / seconds]));
}

function levels(name: string, by: Parameters<typeof sumBy>[1], where: (labels: Metric["labels"]) => boolean = () => true): Plotted["read"] {
  return (now) => sumBy(now.of(name).filter((m) => where(m.labels)), by);
}

function named(pairs: [string, (now: Sample) => number][]): Plotted["read"] {
  return (now) => new Map(pairs.map(([title, read]) => [title, read(now)]));
}

const resource = (labels: Metric["labels"]) => (labels.resource ? `${labels.resource}${labels.group ? `.${labels.group}` : ""}` : labels.subresource || "unknown paths");

/** latency has two quantiles of reads and writes between two samples. */
function latency(now: Sample, before: Sample | undefined): Values | undefined {
  if (!before) return undefined;
  const grown = now.since(before, "apiserver_request_duration_seconds_bucket");
  const out: Values = new Map();
  for (const [title, verbs] of [["reads", reads], ["writes", writes]] as const) {
    const buckets = grown.filter((m) => verbs.has(m.labels.verb ?? ""));
    for (const part of [0.5, 0.99]) {
      const value = quantile(part, buckets);
      if (value !== undefined) out.set(`${title}, p${part * 100}`, value);
    }
  }
  return out;
}

function webhookLatency(now: Sample, before: Sample | undefined): Values | undefined {
  if (!before) return undefined;
  const byName = new Map<string, Metric[]>();
  for (const m of now.since(before, "apiserver_admission_webhook_admission_duration_seconds_bucket")) byName.set(m.labels.name ?? "", [...(byName.get(m.labels.name ?? "") ?? []), m]);
  return new Map([...byName].flatMap(([name, buckets]) => {
    const value = quantile(0.99, buckets);
    return value === undefined ? [] : [[name, value] as [string, number]];
  }));
}

/** plots are those of the page, in its order. */
export const plots: Plotted[] = [
  { id: "verbs", title: "Requests by verb", unit: "rate", read: rates("apiserver_request_total", "verb") },
  { id: "resources", title: "Requests by resource", unit: "rate", read: rates("apiserver_request_total", resource) },
  { id: "latency", title: "Time of answers", unit: "seconds", read: latency, help: "p50 is the time in which half of the requests were answered, p99 that of 99 in a hundred; estimated from buckets, without watches." },
  { id: "errors", title: "Errors by code", unit: "rate", read: rates("apiserver_request_total", "code", (l) => (l.code ?? "") >= "400") },
  { id: "inflight", title: "Requests under way", unit: "count", read: named([
    ["reading", (s) => s.of("apiserver_current_inflight_requests").filter((m) => m.labels.request_kind === "readOnly").reduce((n, m) => n + m.value, 0)],
    ["writing", (s) => s.of("apiserver_current_inflight_requests").filter((m) => m.labels.request_kind === "mutating").reduce((n, m) => n + m.value, 0)],
    ["waiting for a seat", (s) => s.sum("apiserver_flowcontrol_current_inqueue_requests")]]) },
  { id: "watches", title: "Watches by resource", unit: "count", read: levels("apiserver_longrunning_requests", resource, (l) => l.verb === "WATCH") },
  { id: "events", title: "Events sent to watches", unit: "rate", read: rates("apiserver_watch_events_total", "kind") },
  { id: "webhooks", title: "Time of webhooks, p99", unit: "seconds", read: webhookLatency, help: "Each write that a webhook reviews waits for it." },
  { id: "store", title: "Size of the store", unit: "bytes", read: (now) => new Map([
    ["files", now.sum("capstan_store_disk_bytes")], ["log of writes", now.sum("capstan_store_log_bytes")],
    ...now.of("etcd_db_total_size_in_bytes").map((m) => [`etcd ${m.labels.endpoint}`, m.value] as [string, number])]) },
  { id: "trimming", title: "Revisions that can be read", unit: "count", help: "Old revisions are trimmed when their time (--history) is over: the line falls.",
    read: named([["kept", (s) => s.sum("capstan_store_revision") - s.sum("capstan_store_oldest_revision")]]) },
  { id: "writes", title: "Writes of the store", unit: "rate", read: (now, before) => before && perSecond(now, before, new Map([
    ["revisions", now.sum("capstan_store_revision") - before.sum("capstan_store_revision")],
    ["compactions", now.sum("capstan_store_compactions_total") - before.sum("capstan_store_compactions_total")]])) },
  { id: "memory", title: "Memory", unit: "bytes", read: named([["of the process", (s) => s.sum("process_resident_memory_bytes")], ["in use by Go", (s) => s.sum("go_memstats_heap_inuse_bytes")]]) },
  { id: "cpu", title: "Processor", unit: "cores", read: (now, before) => before && perSecond(now, before, new Map([["cores in use", now.sum("process_cpu_seconds_total") - before.sum("process_cpu_seconds_total")]])) },
];

/** wanted are the families that the page reads. */
export const wanted: ReadonlySet<string> = new Set(["apiserver_request_total", "apiserver_request_duration_seconds_bucket", "apiserver_current_inflight_requests",
  "apiserver_flowcontrol_current_inqueue_requests", "apiserver_flowcontrol_request_concurrency_in_use", "apiserver_flowcontrol_request_concurrency_limit",
  "apiserver_longrunning_requests", "apiserver_watch_events_total", "apiserver_admission_webhook_admission_duration_seconds_bucket",
  "apiserver_admission_webhook_request_total", "apiserver_admission_webhook_rejection_count", "apiserver_admission_webhook_fail_open_count",
  "apiserver_storage_objects", "capstan_store_disk_bytes", "capstan_store_log_bytes", "capstan_store_revision", "capstan_store_oldest_revision", "capstan_store_healthy",
  "capstan_store_compactions_total", "capstan_certificate_expiration_timestamp_seconds", "etcd_db_total_size_in_bytes", "process_resident_memory_bytes",
  "process_cpu_seconds_total", "process_start_time_seconds", "go_memstats_heap_inuse_bytes"]);

/** Webhook is what the metrics say about an admission webhook since the server began. */
export interface Webhook {
  name: string;
  type: string;
  calls: number;
  refused: number; // writes, by the webhook's answer
  failed: number; // calls without an answer that counts
  ignored: number; // of the failed: the write went on
  last?: number; // p99 of the time since the sample before, in seconds
}

/** webhooksOf are those that have been called. */
export function webhooksOf(now: Sample, before: Sample | undefined): Webhook[] {
  const all = new Map<string, Webhook>();
  const at = ({ labels }: Metric) => {
    const key = `${labels.name} ${labels.type}`;
    if (!all.has(key)) all.set(key, { name: labels.name ?? "", type: labels.type === "admit" ? "changes" : "checks", calls: 0, refused: 0, failed: 0, ignored: 0 });
    return all.get(key)!;
  };
  for (const m of now.of("apiserver_admission_webhook_request_total")) at(m).calls += m.value;
  for (const m of now.of("apiserver_admission_webhook_rejection_count")) at(m)[m.labels.error_type === "no_error" ? "refused" : "failed"] += m.value;
  for (const m of now.of("apiserver_admission_webhook_fail_open_count")) {
    at(m).failed += m.value;
    at(m).ignored += m.value;
  }
  const times = webhookLatency(now, before);
  for (const w of all.values()) w.last = times?.get(w.name);
  return [...all.values()].sort((a, b) => b.failed - a.failed || b.calls - a.calls);
}
