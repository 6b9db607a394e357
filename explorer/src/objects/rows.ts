import { signal } from "@preact/signals";
import type { Column, Table, TableRow, Value } from "../api/types";
import type { WatchEvent } from "../api/watch";

/** Row is a row of a table, of which little is kept: there may be a hundred thousand. */
export interface Row {
  key: string;
  name: string;
  namespace: string;
  uid: string;
  created: number;
  labels: Record<string, string>;
  cells: Value[];
  text: string; // in which a search looks
}

export interface Order {
  column: number; // -1 for namespace and name, the order of the server
  down: boolean;
}

/** slice is the longest time in milliseconds that the page does not answer. */
const slice = 8;

/** Rows holds the rows of a table in an order, and those of them that a search finds. */
export class Rows {
  readonly shown = signal<Row[]>([]);
  readonly total = signal(0);
  readonly columns = signal<Column[]>([]);
  private byKey = new Map<string, Row>();
  private ordered: Row[] = [];
  private order: Order = { column: -1, down: false };
  private wanted = "";
  private filterPass = 0;
  private sortPass = 0;
  private fresh: Map<string, Row> | null = null;

  /** page takes a page of a list. Rows of an earlier list stay in view until the new list is complete. */
  page(list: Table, first: boolean, last: boolean): void {
    if (list.columnDefinitions?.length) this.columns.value = list.columnDefinitions;
    if (first) this.fresh = this.byKey.size ? new Map() : null;
    const rows = list.rows.map(toRow);
    if (this.fresh) {
      for (const row of rows) this.fresh.set(row.key, row);
      if (last) this.swap(this.fresh);
    } else {
      this.change(new Set(), rows);
    }
  }

  /** events takes what a watch has seen. */
  events(events: WatchEvent<Table>[]): void {
    const gone = new Set<string>();
    const changed = new Map<string, Row>();
    for (const { type, object } of events) {
      for (const row of object.rows.map(toRow)) {
        gone.add(row.key);
        if (type === "DELETED") changed.delete(row.key);
        else changed.set(row.key, row);
      }
    }
    this.change(gone, [...changed.values()]);
  }

  get(key: string): Row | undefined {
    return this.byKey.get(key);
  }

  /** search shows the rows that have all words of a text. */
  search(text: string): void {
    this.wanted = text.toLowerCase();
    void this.filter();
  }

  /** sort orders the rows anew, in slices. */
  async sort(order: Order): Promise<void> {
    this.order = order;
    const pass = ++this.sortPass;
    const sorted = await sortInSlices([...this.byKey.values()], compare(order), () => pass !== this.sortPass);
    if (!sorted) return;
    const still = sorted.filter((row) => this.byKey.get(row.key) === row);
    const known = new Set(still);
    const news = [...this.byKey.values()].filter((row) => !known.has(row)).sort(compare(order));
    this.ordered = merge(still, news, compare(order));
    await this.filter();
  }

  private swap(fresh: Map<string, Row>): void {
    this.byKey = fresh;
    this.fresh = null;
    this.total.value = fresh.size;
    void this.sort(this.order);
  }

  private change(gone: Set<string>, rows: Row[]): void {
    const before = compare(this.order);
    let rest = this.ordered;
    if (gone.size) {
      rest = rest.filter((row) => !gone.has(row.key));
      for (const key of gone) this.byKey.delete(key);
    }
    for (const row of rows) this.byKey.set(row.key, row);
    this.ordered = merge(rest, rows.sort(before), before);
    this.total.value = this.byKey.size;
    void this.filter();
  }

  private async filter(): Promise<void> {
    const pass = ++this.filterPass;
    const words = this.wanted.split(/\s+/).filter(Boolean);
    const all = this.ordered;
    if (!words.length) {
      this.shown.value = all;
      return;
    }
    const found: Row[] = [];
    let until = performance.now() + slice;
    for (let i = 0; i < all.length; i++) {
      if (words.every((w) => all[i]!.text.includes(w))) found.push(all[i]!);
      if (i % 1000 === 999 && performance.now() > until) {
        await breathe();
        if (pass !== this.filterPass) return;
        until = performance.now() + slice;
      }
    }
    this.shown.value = found;
  }
}

function toRow({ cells, object }: TableRow): Row {
  const m = object.metadata;
  const namespace = m.namespace ?? "";
  const name = m.name ?? "";
  return {
    key: m.uid || `${namespace}/${name}`, name, namespace, uid: m.uid ?? "", created: Date.parse(m.creationTimestamp ?? ""), labels: m.labels ?? {}, cells,
    text: `${namespace} ${cells.join(" ")}`.toLowerCase(),
  };
}

const collator = new Intl.Collator("en", { numeric: true });

function compare({ column, down }: Order): (a: Row, b: Row) => number {
  const names = (a: Row, b: Row) => {
    if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
    return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  };
  if (column < 0) return down ? (a, b) => names(b, a) : names;
  const sign = down ? -1 : 1;
  return (a, b) => sign * compareCells(a.cells[column], b.cells[column]) || names(a, b);
}

function compareCells(a: Value | undefined, b: Value | undefined): number {
  const x = weight(a);
  const y = weight(b);
  if (typeof x === "number" && typeof y === "number") return x - y;
  return collator.compare(String(x), String(y));
}

const units: Record<string, number> = { y: 31_536_000, d: 86_400, h: 3600, m: 60, s: 1 };

/** weight is the number by which a cell is compared, if it is a number or a duration such as 3d4h. */
function weight(cell: Value | undefined): number | string {
  if (typeof cell === "number") return cell;
  const text = String(cell ?? "");
  if (!/^(\d+[ydhms])+$/.test(text)) return text;
  return [...text.matchAll(/(\d+)([ydhms])/g)].reduce((sum, [, n, unit]) => sum + Number(n) * units[unit!]!, 0);
}

function merge(a: Row[], b: Row[], before: (a: Row, b: Row) => number): Row[] {
  if (!b.length) return a;
  if (!a.length || before(a.at(-1)!, b[0]!) <= 0) return a.concat(b);
  const out: Row[] = [];
  let i = 0;
  for (const row of b) {
    while (i < a.length && before(a[i]!, row) <= 0) out.push(a[i++]!);
    out.push(row);
  }
  while (i < a.length) out.push(a[i++]!);
  return out;
}

async function sortInSlices(rows: Row[], before: (a: Row, b: Row) => number, stale: () => boolean): Promise<Row[] | undefined> {
  let runs: Row[][] = [];
  let until = performance.now() + slice;
  const rest = async () => {
    if (performance.now() < until) return;
    await breathe();
    until = performance.now() + slice;
  };
  for (let i = 0; i < rows.length; i += 1000) {
    runs.push(rows.slice(i, i + 1000).sort(before));
    await rest();
    if (stale()) return undefined;
  }
  while (runs.length > 1) {
    const next: Row[][] = [];
    for (let i = 0; i < runs.length; i += 2) {
      next.push(runs[i + 1] ? await mergeInSlices(runs[i]!, runs[i + 1]!, before, rest) : runs[i]!);
      if (stale()) return undefined;
    }
    runs = next;
  }
  return runs[0] ?? [];
}

async function mergeInSlices(a: Row[], b: Row[], before: (a: Row, b: Row) => number, rest: () => Promise<void>): Promise<Row[]> {
  const out: Row[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    out.push(before(a[i]!, b[j]!) <= 0 ? a[i++]! : b[j++]!);
    if (out.length % 1000 === 0) await rest();
  }
  while (i < a.length) out.push(a[i++]!);
  while (j < b.length) out.push(b[j++]!);
  return out;
}

/** breathe lets the browser paint and take input. */
function breathe(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resolve(); };
    port2.postMessage(null);
  });
}
