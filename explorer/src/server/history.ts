import type { Values } from "./figures";

/** Lines are the data of a plot: moments in seconds, and for each line a value or a gap at each moment. */
export interface Lines {
  times: number[];
  names: string[];
  values: (number | null)[][];
}

/** kept is the number of moments: a quarter of an hour. mostLines bounds the lines of a plot, mostNames what is kept for each. */
const kept = 180;
const mostLines = 7;
const mostNames = 50;

/** History keeps the values of a plot at the last moments. */
export class History {
  private points: { at: number; values: Values }[] = [];

  add(at: number, values: Values): void {
    const largest = [...values].sort(([, a], [, b]) => b - a).slice(0, mostNames);
    this.points = [...this.points, { at, values: new Map(largest) }].slice(-kept);
  }

  /** gap is a time without values, as of a hidden page. */
  gap(at: number): void {
    if (this.points.at(-1)?.values.size) this.points.push({ at, values: new Map() });
  }

  /** lines are the largest lines; the others are added up if that has a meaning. */
  lines(addUp: boolean): Lines {
    const sums = new Map<string, number>();
    for (const { values } of this.points) for (const [name, value] of values) sums.set(name, (sums.get(name) ?? 0) + Math.abs(value));
    const all = [...sums].sort(([a, x], [b, y]) => y - x || a.localeCompare(b)).map(([name]) => name);
    const names = all.slice(0, mostLines);
    const rest = all.slice(mostLines);
    const values: (number | null)[][] = names.map((name) => this.points.map(({ values: v }) => (v.size ? v.get(name) ?? (addUp ? 0 : null) : null)));
    if (rest.length && addUp) {
      values.push(this.points.map(({ values: v }) => (v.size ? rest.reduce((sum, name) => sum + (v.get(name) ?? 0), 0) : null)));
      names.push(`others (${rest.length})`);
    }
    return { times: this.points.map((p) => p.at / 1000), names, values };
  }
}
