import { openapi, openapiIndex } from "../api/openapi";
import { pause } from "../api/watch";
import { walk } from "./types";

/** Entry is a kind, or a field of one, that a search can find. */
export interface Entry {
  group: string;
  version: string;
  type: string;
  path: string[]; // empty for the kind itself
  text: string; // the description
  last: string; // the name in small letters
  name: string; // the whole path in small letters
  about: string; // the description in small letters
}

/** common are the fields that all kinds have; they are found as those of ObjectMeta's first kind. */
const common = "metadata";

/** Library has the kinds and fields of all documents of a server. */
export class Library {
  private constructor(readonly entries: Entry[]) {}

  /** load reads the documents, one at a time. */
  static async load(signal: AbortSignal, progress: (done: number, all: number) => void): Promise<Library> {
    const keys = [...(await openapiIndex()).keys()].map((key) => /^(?:api|apis\/([^/]+))\/([^/]+)$/.exec(key)).filter((m) => m !== null);
    const entries: Entry[] = [];
    let seen = false;
    for (const [i, [, group = "", version = ""]] of keys.entries()) {
      progress(i, keys.length);
      const document = await openapi(group, version);
      if (signal.aborted) throw new DOMException("left", "AbortError");
      for (const schema of Object.values(document.schemas)) {
        const own = schema["x-kubernetes-group-version-kind"]?.find((k) => k.group === group && k.version === version);
        const resolved = document.resolve(schema);
        if (!own || !resolved.properties || (own.kind.endsWith("List") && resolved.properties.items) || isOptions(own.kind)) continue;
        const add = (path: string[], text: string) => entries.push(entryOf(group, version, own.kind, path, text));
        add([], resolved.description ?? "");
        walk(document, schema, (path, field) => {
          if (path.length === 1 && (path[0] === "apiVersion" || path[0] === "kind")) return;
          if (path.at(-1) === common && seen) return false;
          if (path.length === 1 && path[0] === common) seen = true;
          add(path, field.schema.description ?? "");
        });
      }
      await pause(0);
    }
    return new Library(entries);
  }

  /** find finds the entries in which all words are, the nearest first. */
  find(text: string, most: number): { found: Entry[]; all: number } {
    const words = text.toLowerCase().split(/[\s.]+/).filter(Boolean);
    const ranked = this.entries.map((e) => ({ e, rank: rankOf(e, words) })).filter(({ rank }) => rank < none);
    ranked.sort((a, b) => a.rank - b.rank || a.e.path.length - b.e.path.length || a.e.name.length - b.e.name.length);
    return { found: ranked.slice(0, most).map(({ e }) => e), all: ranked.length };
  }
}

/** isOptions tells the kinds of options of requests, which every group version repeats. */
function isOptions(kind: string): boolean {
  return kind === "DeleteOptions" || kind === "WatchEvent" || kind === "Status";
}

function entryOf(group: string, version: string, type: string, path: string[], text: string): Entry {
  return { group, version, type, path, text, last: (path.at(-1) ?? type).toLowerCase(), name: [type, ...path].join(".").toLowerCase(), about: text.toLowerCase() };
}

const none = 1000;

/** rankOf adds up how near each word is: the name itself, its beginning, a part of it, a part of the path, of the description. */
function rankOf(e: Entry, words: string[]): number {
  let rank = 0;
  for (const w of words) {
    if (e.last === w) rank += 0;
    else if (e.last.startsWith(w)) rank += 1;
    else if (e.last.includes(w)) rank += 2;
    else if (e.name.includes(w)) rank += 3;
    else if (e.group.includes(w) || e.version === w) rank += 3;
    else if (e.about.includes(w)) rank += 10;
    else return none;
  }
  return rank;
}
