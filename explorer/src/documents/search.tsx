import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { apiVersion } from "../api/discovery";
import { useKeys } from "../keys";
import { useLoad } from "../parts/load";
import { Failure } from "../parts/notice";
import { go, href, replace } from "../route";
import { address, writePath } from "./address";
import { type Entry, Library } from "./library";

/** most bounds the entries that are shown. */
const most = 100;

/** Search finds kinds and fields of all documents, which it reads when it is opened. */
export function Search({ text }: { text: string }) {
  const input = useRef<HTMLInputElement>(null);
  const [progress, setProgress] = useState("");
  const { value: library, error, again } = useLoad((signal) => Library.load(signal, (done, all) => setProgress(`${done} of ${all}`)), []);
  useKeys([{ key: "/", does: "search", run: () => input.current?.focus() }]);
  useEffect(() => { input.current?.focus(); }, []);
  const { found, all } = useMemo(() => (library && text.trim() ? library.find(text, most) : { found: [], all: 0 }), [library, text]);
  const size = useMemo(() => counted(library), [library]);
  return (
    <main class="page documents">
      <h1>Kinds and their fields</h1>
      <input ref={input} type="search" class="command" aria-label="Search kinds and fields" placeholder="replicas, pod image, retry limit…" value={text} spellcheck={false} autocomplete="off"
        onInput={(e) => replace(href(["documents"], { q: e.currentTarget.value }))}
        onKeyDown={(e) => { if (e.key === "Enter" && found[0]) go(address(found[0], found[0].type, found[0].path)); }} />
      <Failure error={error} retry={again} />
      {!library && !error && <p class="soft" role="status">Reading the documents of all groups: {progress}</p>}
      {library && !text.trim() && <p class="soft">{size}</p>}
      {library && text.trim() && <p class="soft" role="status">{all === 0 ? "Nothing was found; try a shorter word." : all > most ? `The first ${most} of ${all.toLocaleString()}:` : `${all} found:`}</p>}
      <ul class="found">{found.map((e) => <Found key={`${apiVersion(e)} ${e.name}`} entry={e} />)}</ul>
    </main>
  );
}

function counted(library: Library | undefined): string {
  if (!library) return "";
  const fields = library.entries.filter((e) => e.path.length).length;
  return `${library.entries.length - fields} kinds with ${fields.toLocaleString()} fields. Several words are searched together, also in descriptions.`;
}

function Found({ entry: e }: { entry: Entry }) {
  return (
    <li>
      <a class="mono" href={address(e, e.type, e.path)}>{e.type}{e.path.length > 0 && `.${writePath(e.path)}`}</a> <span class="soft">{apiVersion(e)}</span>
      <p class="soft">{e.text}</p>
    </li>
  );
}
