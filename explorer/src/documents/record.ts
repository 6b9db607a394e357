import { json } from "../api/client";

/** Record is what changed in the documents of the server's own kinds since its last release. It is made when the page is. */
export interface Record {
  release: { version: string; date: string };
  versions: { group: string; version: string; since?: string }[];
  added: { group: string; version: string; new?: boolean; kinds?: string[]; resources?: string[]; fields?: { [type: string]: string[] } }[];
  broken: { level: string; rule: string; why: string; mend: string; findings: string[] }[];
}

let record: Promise<Record> | undefined;

/** readRecord reads it, once. */
export function readRecord(): Promise<Record> {
  record ??= json<Record>(new URL("changes.json", document.baseURI).pathname, { probe: true, cache: "no-cache" });
  record.catch(() => { record = undefined; });
  return record;
}

/** sinceOf says since when a kind is there, as far as it is known. */
export function sinceOf(record: Record, at: { group: string; version: string }, kind: string): string {
  const same = (v: { group: string; version: string }) => v.group === at.group && v.version === at.version;
  const { version } = record.release;
  const known = record.versions.find(same);
  if (!known) return "There is no record of when this kind came: it is of a definition, an extension server or another module.";
  if (!known.since || record.added.some((a) => same(a) && a.kinds?.includes(kind))) return `New since release ${version}.`;
  return known.since === version ? `In release ${version}, or before.` : `Since release ${known.since}.`;
}

/** newField tells whether a field of a type is new since the release. */
export function newField(record: Record, at: { group: string; version: string }, type: string, field: string): boolean {
  return record.added.some((a) => a.group === at.group && a.version === at.version && a.fields?.[type]?.includes(field));
}
