import { useState } from "preact/hooks";
import { EditTab } from "../edit/edit";
import type { Kind } from "../api/discovery";
import { may } from "../api/rights";
import { Refusal } from "../api/status";
import type { KubeObject, Pod } from "../api/types";
import { useKeys } from "../keys";
import { Bulk } from "../objects/bulk";
import { address, place } from "../objects/view";
import { useLoad } from "../parts/load";
import { Failure, Notice } from "../parts/notice";
import { go, href, route } from "../route";
import { ConditionsTab, conditionsOf } from "./conditions";
import { EndpointsTab } from "./endpoints";
import { EventsTab } from "./events";
import { GraphTab } from "./graph";
import { HistoryTab } from "./history";
import { LogsTab } from "./logs";
import { ContainersTab } from "./pod";
import { ShellTab } from "./shell";
import { useObject } from "./watched";
import { YamlTab } from "./yaml";

interface Props {
  kind: Kind;
  namespace: string;
  name: string;
  tab: string;
}

/** One is the page of one object. */
export function One({ kind, namespace, name, tab }: Props) {
  const { object, deleted, error, broken } = useObject(kind, namespace, name);
  const [deleting, setDeleting] = useState(false);
  const rights = useLoad(() => Promise.all(["patch", "update", "delete", "watch"].map((v) => may(v, kind, namespace, name))), [kind, namespace, name]).value ?? [];
  const [patch, update, remove, watch] = rights;
  const tabs = object ? tabsOf(kind, object, !!(patch || update), !!watch) : [];
  const to = (t: string) => go(address(kind, { namespace, name }, t));
  const step = (by: number) => {
    const i = tabs.findIndex((t) => t.id === tab);
    to(tabs[(i + by + tabs.length) % tabs.length]?.id ?? "yaml");
  };
  const list = href(place(kind), { ns: route.value.query.get("ns") ?? namespace });
  useKeys([
    { key: "Escape", does: "back to the table", run: () => go(list) },
    { key: "ArrowRight", does: "next tab", run: () => step(1) },
    { key: "ArrowLeft", does: "tab before", run: () => step(-1) },
    { key: "e", does: "edit", run: () => { if (tabs.some((t) => t.id === "edit")) to("edit"); } },
    { key: "d", does: "YAML and owners", run: () => to("yaml") },
    ...(remove ? [{ key: "ctrl+d", does: "delete", run: () => setDeleting(true) }] : []),
  ]);
  return (
    <main class="page one">
      <div class="row">
        <p class="soft grow crumbs"><a href={list}>{kind.resource}</a> / {namespace && `${namespace} / `}</p>
      </div>
      <div class="row">
        <h1 class="grow">{name}</h1>
        {remove && object && !deleted && <button type="button" class="danger" onClick={() => setDeleting(true)}>Delete</button>}
      </div>
      {broken && <Notice kind="warn">The connection is lost; the page tries again by itself.</Notice>}
      {deleted && <Notice kind="warn">This object was deleted. What you see is its last state.</Notice>}
      {error instanceof Refusal && error.code === 404 ? <Notice kind="warn">There is no {kind.kind} {name} {namespace && `in ${namespace}`}.</Notice> : <Failure error={error} />}
      {object && (
        <nav class="tabs" aria-label="Views of the object">
          {tabs.map((t) => <a key={t.id} href={address(kind, { namespace, name }, t.id)} aria-current={t.id === tab ? "page" : undefined}>{t.title}</a>)}
        </nav>
      )}
      {object && <div class="tab" key={object.metadata.uid}><Tab tab={tab} object={object} kind={kind} namespace={namespace} name={name} deleted={!!deleted} /></div>}
      {!object && !error && <p class="soft" role="status">Loading…</p>}
      {deleting && object && <Bulk action="delete" kind={kind} close={() => setDeleting(false)}
        rows={[{ key: name, name, namespace, uid: object.metadata.uid ?? "", created: 0, labels: {}, cells: [], text: "" }]} />}
    </main>
  );
}

interface TabTitle {
  id: string;
  title: string;
}

function tabsOf(kind: Kind, object: KubeObject, edit: boolean, watch: boolean): TabTitle[] {
  const pod = kind.group === "" && kind.resource === "pods";
  const service = kind.group === "" && kind.resource === "services";
  const list: [boolean, string, string][] = [
    [true, "yaml", "YAML and owners"], [edit, "edit", "Edit"], [pod, "containers", "Containers"], [pod, "logs", "Logs"], [pod, "shell", "Shell"],
    [service, "endpoints", "Endpoints"], [watch, "history", "History"], [true, "events", "Events"], [true, "graph", "Graph"], [conditionsOf(object).length > 0, "conditions", "Conditions"],
  ];
  return list.filter(([shown]) => shown).map(([, id, title]) => ({ id, title }));
}

function Tab({ tab, object, kind, namespace, name, deleted }: Props & { object: KubeObject; deleted: boolean }) {
  switch (tab) {
    case "edit": return <EditTab object={object} deleted={deleted} kind={kind} target={{ kind, namespace, name }} />;
    case "history": return <HistoryTab kind={kind} namespace={namespace} name={name} />;
    case "events": return <EventsTab object={object} />;
    case "graph": return <GraphTab object={object} kind={kind} />;
    case "conditions": return <ConditionsTab object={object} />;
    case "containers": return <ContainersTab pod={object as unknown as Pod} />;
    case "logs": return <LogsTab pod={object as unknown as Pod} />;
    case "shell": return <ShellTab pod={object as unknown as Pod} />;
    case "endpoints": return <EndpointsTab object={object} />;
    default: return <YamlTab object={object} />;
  }
}
