import { useState } from "preact/hooks";
import { type Kind, kinds } from "../api/discovery";
import { syllables } from "../objects/groups";
import { href } from "../route";
import { address } from "./address";

/** Contents lists the pages of the view, and the kinds by group. */
export function Contents({ here, page }: { here?: { group: string; type: string }; page: string }) {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const link = (id: string, title: string) =>
    <li><a href={href(id === "search" ? ["documents"] : ["documents", id])} aria-current={page === id ? "page" : undefined} onClick={() => setOpen(false)}>{title}</a></li>;
  return (
    <aside class={open ? "groups open" : "groups"} aria-label="Contents">
      <button type="button" class="groups-toggle" aria-expanded={open} onClick={() => setOpen(!open)}>{here?.type ?? "Contents"} ▾</button>
      <div class="groups-list">
        <ul>{link("search", "Search everything")}{link("changes", "What changed")}{link("definition", "Check a definition")}</ul>
        <input type="search" aria-label="Find a kind" placeholder="Find a kind" value={text} onInput={(e) => setText(e.currentTarget.value)} />
        {[...byGroup(text.toLowerCase())].map(([group, list]) => (
          <section key={group} aria-label={group || "core"}>
            <h3 class="soft">{group || "core"}</h3>
            <ul>
              {list.map((k) => (
                <li key={k.kind}><a href={address(k, k.kind)} onClick={() => setOpen(false)} aria-current={here?.group === k.group && here.type === k.kind ? "page" : undefined}>{syllables(k.kind)}</a></li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </aside>
  );
}

/** byGroup has each kind once, in the version that its group prefers. */
function byGroup(wanted: string): Map<string, Kind[]> {
  const groups = new Map<string, Kind[]>();
  for (const k of kinds.value ?? []) {
    const list = groups.get(k.group) ?? [];
    if (list.some((o) => o.kind === k.kind) || !`${k.kind} ${k.group}`.toLowerCase().includes(wanted)) continue;
    groups.set(k.group, [...list, k].sort((a, b) => a.kind.localeCompare(b.kind)));
  }
  return groups;
}
