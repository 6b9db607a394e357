/** Cells is a row of a dump of priority and fairness, by the names of its columns. */
export type Cells = Record<string, string>;

/** parseDump reads a dump. Its columns are aligned, so that commas in the names of users do not count. */
export function parseDump(text: string): Cells[] {
  const [head = "", ...lines] = text.split("\n");
  const columns = [...head.matchAll(/(\S+?)(?:,\s+|\s*$)/g)].map((m) => ({ name: m[1]!, from: m.index }));
  return lines.filter(Boolean).map((line) => {
    const letters = [...line];
    return Object.fromEntries(columns.map(({ name, from }, i) => {
      const end = columns[i + 1]?.from;
      return [name, letters.slice(from, end).join("").trim().replace(end === undefined ? "" : /,$/, "")];
    }));
  });
}

/** Queued are requests of one flow that wait at one level. */
export interface Queued {
  level: string;
  schema: string;
  flow: string; // the user, or the namespace, by which the schema tells flows apart
  requests: number;
  oldest: number; // moment
  example: string;
}

/** queuedOf adds up requests that wait, those of the flow with the most first. */
export function queuedOf(requests: Cells[]): Queued[] {
  const all = new Map<string, Queued>();
  for (const r of requests) {
    const flow = r.FlowDistingsher || r.UserName || "";
    const key = JSON.stringify([r.PriorityLevelName, r.FlowSchemaName, flow]);
    const arrived = Date.parse(r.ArriveTime ?? "");
    const q = all.get(key);
    if (q) {
      q.requests++;
      q.oldest = Math.min(q.oldest, arrived);
    } else {
      all.set(key, { level: r.PriorityLevelName ?? "", schema: r.FlowSchemaName ?? "", flow, requests: 1, oldest: arrived, example: `${r.Verb ?? ""} ${r.APIPath ?? ""}`.trim() });
    }
  }
  return [...all.values()].sort((a, b) => b.requests - a.requests);
}
