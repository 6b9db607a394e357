import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { type Kind, shownKinds } from "../api/discovery";
import { rulesOf } from "../api/rights";
import { useLoad } from "../parts/load";
import { href } from "../route";
import { namespace } from "../state";

/** Groups is the list of kinds that the user may list, by group. */
export function Groups({ here }: { here: Kind | undefined }) {
  const [text, setText] = useState("");
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState(false);
  const ns = namespace.value || "default";
  const rules = useLoad(() => rulesOf(ns), [ns]).value;
  const listable = shownKinds.value.filter((k) => k.verbs.includes("list"));
  const allowed = listable.filter((k) => all || !rules || rules.may("list", k));
  const found = allowed.filter((k) => `${k.resource} ${k.kind} ${k.group} ${k.short.join(" ")}`.toLowerCase().includes(text.toLowerCase()));
  const hidden = listable.length - (rules ? listable.filter((k) => rules.may("list", k)).length : listable.length);
  return (
    <aside class={open ? "groups open" : "groups"} aria-label="Kinds">
      <button type="button" class="groups-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>{here ? here.kind : "Kinds"} ▾</button>
      <div class="groups-list">
        <input type="search" aria-label="Find a kind" placeholder="Find a kind" value={text} onInput={(e) => setText(e.currentTarget.value)} />
        {byGroup(found).map(([group, list]) => (
          <section key={group} aria-label={group || "core"}>
            <h3 class="soft">{group || "core"}</h3>
            <ul>
              {list.map((k) => (
                <li key={k.resource}>
                  <a href={href(["objects", k.group || "core", k.version, k.resource], { ns: namespace.value })}
                    aria-current={here?.group === k.group && here.resource === k.resource ? "page" : undefined} onClick={() => setOpen(false)}>{syllables(k.kind)}</a>
                </li>
              ))}
            </ul>
          </section>
        ))}
        {(hidden > 0 || all) && <button type="button" class="quiet" aria-pressed={all} onClick={() => setAll(!all)}>{all ? "Only what I may list" : `${hidden} kinds that I may not list`}</button>}
      </div>
    </aside>
  );
}

/** syllables lets a long name of a kind break before its words. */
export function syllables(name: string) {
  return name.split(/(?=[A-Z][a-z])/).map((word, i) => <Fragment key={i}>{i > 0 && <wbr />}{word}</Fragment>);
}

const first = ["", "apps", "batch", "networking.k8s.io"];

function byGroup(list: Kind[]): [string, Kind[]][] {
  const groups = new Map<string, Kind[]>();
  for (const k of list) groups.set(k.group, [...(groups.get(k.group) ?? []), k]);
  const rank = (g: string) => (first.includes(g) ? first.indexOf(g) : 99);
  return [...groups].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b)).map(([g, ks]) => [g, ks.sort((a, b) => a.kind.localeCompare(b.kind))]);
}
