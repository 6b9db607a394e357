import type { Unit } from "./figures";

const number = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const whole = new Intl.NumberFormat("en");

/** show writes a value with its unit. */
export function show(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  switch (unit) {
    case "bytes": return bytes(value);
    case "seconds": return duration(value);
    case "rate": return `${number.format(value)}/s`;
    case "cores": return number.format(value);
    case "count": return whole.format(Math.round(value));
  }
}

/** bytes writes a size in binary units. */
export function bytes(value: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let at = 0;
  while (value >= 1024 && at < units.length - 1) {
    value /= 1024;
    at++;
  }
  return `${value >= 100 || at === 0 ? Math.round(value) : number.format(value)} ${units[at]}`;
}

/** duration writes a time in seconds. */
export function duration(seconds: number): string {
  if (seconds < 0.001 && seconds > 0) return `${number.format(seconds * 1e6)} µs`;
  return seconds < 1 ? `${number.format(seconds * 1000)} ms` : `${number.format(seconds)} s`;
}
