import { useState } from "preact/hooks";
import { apiVersion, shownKinds } from "../api/discovery";
import { Dialog } from "../parts/dialog";
import { go, href, type Module, route } from "../route";
import { lastNamespace, namespace, namespaces } from "../state";

interface Choice {
  label: string;
  note: string;
  words: string[];
  run: () => void;
}

/** CommandLine finds kinds, their documents, namespaces and pages by some letters of their names. */
export function CommandLine({ modules, close }: { modules: Module[]; close: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const found = search(choices(modules), text);
  const run = (choice: Choice | undefined) => {
    if (!choice) return;
    close();
    choice.run();
  };
  return (
    <Dialog title="Go to" close={close}>
      <input class="command" role="combobox" aria-label="Kind, namespace or page" aria-expanded="true" aria-controls="choices" autofocus
        aria-activedescendant={found.length ? `choice-${at}` : undefined} placeholder="pods, deploy, ns default…" value={text} spellcheck={false} autocomplete="off"
        onInput={(e) => { setText(e.currentTarget.value); setAt(0); }}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown") setAt(Math.min(at + 1, found.length - 1));
          else if (e.key === "ArrowUp") setAt(Math.max(at - 1, 0));
          else if (e.key === "Tab" && found[at] && text !== found[at].label) setText(found[at].label);
          else if (e.key === "Enter") run(found[at]);
          else return;
          e.preventDefault();
        }} />
      <ul id="choices" role="listbox" aria-label="Choices" class="choices">
        {found.map((c, i) => (
          <li key={c.label + c.note} id={`choice-${i}`} role="option" aria-selected={i === at} onClick={() => run(c)}><span>{c.label}</span><span class="soft">{c.note}</span></li>
        ))}
        {!found.length && <li class="soft" role="option" aria-selected={false}>Nothing is called so.</li>}
      </ul>
    </Dialog>
  );
}

function choices(modules: Module[]): Choice[] {
  const inNamespace = (name: string) => {
    lastNamespace.value = name;
    const { parts, query } = route.value;
    const here = parts[0] === "objects" && parts.length === 4 ? parts : ["objects"];
    go(href(here, { ...Object.fromEntries(query), ns: name || undefined }));
  };
  return [
    ...shownKinds.value.map((k) => ({
      label: k.resource, note: k.group ? apiVersion(k) : "core", words: [k.resource, k.singular, k.kind.toLowerCase(), ...k.short],
      run: () => go(href(["objects", k.group || "core", k.version, k.resource], { ns: namespace.value })),
    })),
    ...shownKinds.value.map((k) => ({
      label: `explain ${k.resource}`, note: k.group ? apiVersion(k) : "core", words: [`explain ${k.resource}`, `explain ${k.kind.toLowerCase()}`],
      run: () => go(href(["documents", k.group || "core", k.version, k.kind])),
    })),
    { label: "ns all", note: "all namespaces", words: ["ns all", "all namespaces"], run: () => inNamespace("") },
    ...namespaces.value.map((name) => ({ label: `ns ${name}`, note: "namespace", words: [name, `ns ${name}`], run: () => inNamespace(name) })),
    ...modules.map((m) => ({ label: m.title.toLowerCase(), note: "page", words: [m.title.toLowerCase()], run: () => go(href([m.path])) })),
  ];
}

/** search puts exact names first, then beginnings, then parts. */
function search(all: Choice[], text: string): Choice[] {
  const wanted = text.trim().toLowerCase();
  const rank = (c: Choice) => Math.min(...c.words.map((w) => w === wanted ? 0 : w.startsWith(wanted) ? 1 : w.includes(wanted) ? 2 : 9));
  return all.map((c) => ({ c, r: rank(c) })).filter(({ r }) => r < 9).sort((a, b) => a.r - b.r).slice(0, 50).map(({ c }) => c);
}
