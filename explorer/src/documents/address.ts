import { href } from "../route";

/** address is that of a type or of one of its fields, which a path names: spec.template. */
export function address(at: { group: string; version: string }, type: string, path?: string[], query?: Record<string, string | undefined>): string {
  return href(["documents", at.group || "core", at.version, type, ...(path?.length ? [writePath(path)] : [])], query);
}

/** writePath joins the names of fields. Names with other letters than usual are in quotes. */
export function writePath(path: string[]): string {
  return path.map((name) => (/^[\w$-]+$/.test(name) ? name : JSON.stringify(name))).join(".");
}

/** readPath is the reverse of writePath. */
export function readPath(text: string): string[] {
  return [...text.matchAll(/"(?:[^"\\]|\\.)*"|[^."]+/g)].map(([part]) => {
    try {
      return part.startsWith('"') ? (JSON.parse(part) as string) : part;
    } catch {
      return part;
    }
  });
}
