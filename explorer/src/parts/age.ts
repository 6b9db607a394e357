import { signal } from "@preact/signals";

/** tick changes every five seconds, so that ages in view grow. */
const tick = signal(0);
setInterval(() => { if (!document.hidden) tick.value++; }, 5000);

/** age is the time since a moment, in at most two units. */
export function age(moment: number): string {
  void tick.value;
  let seconds = Math.max(0, Math.floor((Date.now() - moment) / 1000));
  if (!Number.isFinite(seconds)) return "";
  const parts: string[] = [];
  for (const [unit, length] of [["y", 31_536_000], ["d", 86_400], ["h", 3600], ["m", 60], ["s", 1]] as const) {
    const n = Math.floor(seconds / length);
    if (n > 0 || (unit === "s" && !parts.length)) parts.push(`${n}${unit}`);
    else if (parts.length) break;
    seconds -= n * length;
    if (parts.length === 2 || n >= 10) break;
  }
  return parts.join("");
}

/** when is a time for people, with its age. */
export function when(time: string | undefined): string {
  if (!time) return "";
  const moment = new Date(time);
  return `${moment.toLocaleString()} (${age(moment.getTime())} ago)`;
}
