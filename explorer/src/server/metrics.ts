/** Metric is a value of a family, with its labels. */
export interface Metric {
  labels: Record<string, string>;
  value: number;
}

/** Sample has the metrics of a server at a moment. A metric is found by its name and the text of its labels. */
export class Sample {
  /** cut tells that the text was longer than what is read of it. */
  cut = false;
  private readonly families = new Map<string, Map<string, Metric>>();
  private size = 0;

  constructor(readonly at: number, private readonly wanted: ReadonlySet<string>) {}

  /** add takes a line of the text format. It returns false when the rest of the text is too much. */
  add(line: string): boolean {
    this.size += line.length + 1;
    if (this.size > most) {
      this.cut = true;
      return false;
    }
    const end = line.search(/[{ ]/);
    const name = line.slice(0, end);
    if (!this.wanted.has(name)) return true;
    const close = line[end] === "{" ? line.lastIndexOf("}") : end - 1;
    const labels = line[end] === "{" ? parseLabels(line.slice(end + 1, close)) : none();
    const value = parseValue(line.slice(close + 1).trim().split(" ", 1)[0]!);
    if (!labels || value === undefined) return true;
    let family = this.families.get(name);
    if (!family) this.families.set(name, family = new Map());
    family.set(line.slice(end, close + 1), { labels, value });
    return true;
  }

  /** of lists the metrics of a family. */
  of(name: string): Metric[] {
    return [...(this.families.get(name)?.values() ?? [])];
  }

  sum(name: string): number {
    return this.of(name).reduce((sum, m) => sum + m.value, 0);
  }

  /** since lists by how much the counters of a family have grown. A counter that is smaller than before has begun anew. */
  since(before: Sample | undefined, name: string): Metric[] {
    const old = before?.families.get(name);
    return [...(this.families.get(name) ?? [])].map(([key, { labels, value }]) => {
      const last = old?.get(key)?.value ?? 0;
      return { labels, value: value >= last ? value - last : value };
    });
  }
}

/** most is the number of characters that are read of the metrics of a server. */
const most = 32_000_000;

const label = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)",?/y;

function none(): Record<string, string> {
  return Object.create(null) as Record<string, string>;
}

function parseLabels(text: string): Record<string, string> | undefined {
  const labels = none();
  label.lastIndex = 0;
  while (label.lastIndex < text.length) {
    const found = label.exec(text);
    if (!found) return undefined;
    labels[found[1]!] = found[2]!.replace(/\\(.)/g, (_, c: string) => (c === "n" ? "\n" : c));
  }
  return labels;
}

function parseValue(text: string): number | undefined {
  if (text === "+Inf") return Infinity;
  if (text === "-Inf") return -Infinity;
  const value = Number(text);
  return text === "" || Number.isNaN(value) ? undefined : value;
}

/** sumBy adds up metrics by one of their labels, or by what a function makes of all. */
export function sumBy(metrics: Metric[], by: string | ((labels: Record<string, string>) => string)): Map<string, number> {
  const out = new Map<string, number>();
  for (const { labels, value } of metrics) {
    const key = typeof by === "string" ? labels[by] ?? "" : by(labels);
    out.set(key, (out.get(key) ?? 0) + value);
  }
  return out;
}

/**
 * quantile estimates from the buckets of a histogram the value below which a part of the observations is; undefined without
 * observations. Within a bucket they count as evenly spread, and those above the last bound as that bound.
 */
export function quantile(part: number, buckets: Metric[]): number | undefined {
  const counts = [...sumBy(buckets, "le")].map(([le, n]) => [le === "+Inf" ? Infinity : Number(le), n] as const).sort(([a], [b]) => a - b);
  const all = counts.at(-1)?.[1] ?? 0;
  if (!(all > 0) || counts.at(-1)![0] !== Infinity) return undefined;
  const at = counts.findIndex(([, n]) => n >= part * all);
  const [bound, n] = counts[at]!;
  const [below, before] = counts[at - 1] ?? [0, 0];
  if (bound === Infinity) return below;
  return n === before ? bound : below + (bound - below) * ((part * all - before) / (n - before));
}
