import { signal } from "@preact/signals";
import { aborted, json, send, text } from "../api/client";
import { lines } from "../api/lines";
import { Refusal } from "../api/status";
import { pause } from "../api/watch";
import { plots, wanted } from "./figures";
import { History } from "./history";
import { Sample } from "./metrics";
import { type Cells, parseDump } from "./queues";

/** SlowRequest is a request that took long, as /debug/slow_requests shows it. */
export interface SlowRequest {
  time: string;
  method: string;
  path: string;
  options?: string[];
  verb: string;
  group?: string;
  version?: string;
  resource?: string;
  subresource?: string;
  user?: string;
  code: number;
  bytes: number;
  durationSeconds: number;
  queuedSeconds: number;
}

export interface SlowRequests {
  thresholdSeconds: number;
  requests: SlowRequest[];
}

/** Part is what one endpoint has answered, and the error of the last request for it. An endpoint that the server lacks is absent. */
export interface Part<T> {
  value?: T;
  error?: unknown;
  absent?: boolean;
}

/** seconds are between two rounds; the second round comes sooner, since rates need two samples. */
const seconds = 5;
const firstSeconds = 2;

/** shownSlow and longestDump bound what is read of two endpoints. */
const shownSlow = 100;
const longestDump = 1_000_000;

/** Monitor asks a server about itself, one request at a time, while the page is visible. */
export class Monitor {
  readonly now = signal<Part<Sample>>({});
  readonly before = signal<Sample | undefined>(undefined);
  readonly levels = signal<Part<Cells[]>>({});
  readonly queued = signal<Part<Cells[]>>({});
  readonly slow = signal<Part<SlowRequests>>({});
  readonly paused = signal(false);
  readonly histories = new Map(plots.map((p) => [p.id, new History()]));
  private readonly end = new AbortController();

  constructor() {
    void this.run();
  }

  stop(): void {
    this.end.abort();
  }

  private async run(): Promise<void> {
    const { signal: end } = this.end;
    for (let round = 0; !end.aborted; round++) {
      if (!document.hidden && !this.paused.value) await this.round();
      await pause((round ? seconds : firstSeconds) * 1000, end);
    }
  }

  private async round(): Promise<void> {
    await ask(this.now, this.end.signal, async (end) => this.sample(end));
    await ask(this.levels, this.end.signal, async (end) => parseDump(await text("/debug/api_priority_and_fairness/dump_priority_levels", { signal: end })));
    await ask(this.queued, this.end.signal, async (end) => {
      if (!this.levels.value.value?.some((l) => Number(l.WaitingRequests) > 0)) return [];
      const dump = await text("/debug/api_priority_and_fairness/dump_requests", { query: { includeRequestDetails: 1 }, signal: end });
      return parseDump(dump.slice(0, longestDump));
    });
    await ask(this.slow, this.end.signal, (end) => json<SlowRequests>("/debug/slow_requests", { query: { limit: shownSlow }, signal: end }));
  }

  /** sample reads the metrics, and adds their values to the plots. */
  private async sample(end: AbortSignal): Promise<Sample> {
    const answer = await send("/metrics", { accept: "text/plain;version=0.0.4", signal: end });
    const sample = new Sample(Date.now(), wanted);
    for await (const line of lines(answer.body!)) if (!sample.add(line)) break;
    const last = this.now.value.value;
    const late = last !== undefined && sample.at - last.at > 3 * seconds * 1000; // hidden, paused, or unreachable meanwhile
    this.before.value = late ? undefined : last;
    for (const plot of plots) {
      const history = this.histories.get(plot.id)!;
      if (late) history.gap(last.at + 1);
      const values = plot.read(sample, this.before.value);
      if (values) history.add(sample.at, values);
    }
    return sample;
  }
}

async function ask<T>(part: { value: Part<T> }, end: AbortSignal, read: (end: AbortSignal) => Promise<T>): Promise<void> {
  if (end.aborted) return;
  try {
    part.value = { value: await read(end) };
  } catch (error) {
    if (end.aborted || aborted(error)) return;
    part.value = error instanceof Refusal && error.code === 404 ? { absent: true } : { value: part.value.value, error };
  }
}
