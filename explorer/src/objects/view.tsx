import { useSignal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Kind } from "../api/discovery";
import { may } from "../api/rights";
import { Refusal } from "../api/status";
import type { Column } from "../api/types";
import { type Binding, useKeys } from "../keys";
import { age } from "../parts/age";
import { useLoad } from "../parts/load";
import { Failure, Notice } from "../parts/notice";
import { type TableColumn, VirtualTable } from "../parts/table";
import { go, href, replace, route } from "../route";
import { namespaces } from "../state";
import { type Action, Bulk } from "./bulk";
import { Live } from "./live";
import type { Order, Row } from "./rows";
import { labelsOf, SelectorField, useFields } from "./selectors";

interface Props {
  kind: Kind;
  namespace: string;
  labels: string;
  fields: string;
}

/** ObjectsTable is the live table of a kind. */
export function ObjectsTable(props: Props) {
  const { kind, namespace, labels, fields } = props;
  const identity = [kind.group, kind.version, kind.resource, namespace, labels, fields];
  const live = useMemo(() => new Live(props), identity);
  useEffect(() => () => live.stop(), [live]);
  return <TableOf key={identity.join(" ")} live={live} {...props} />;
}

function TableOf({ live, kind, namespace, labels, fields }: Props & { live: Live }) {
  const { rows } = live;
  const search = useRef<HTMLInputElement>(null);
  const cursor = useSignal<string | undefined>(undefined);
  const chosen = useSignal<ReadonlySet<string>>(new Set());
  const [order, setOrder] = useState<Order>({ column: -1, down: false });
  const [wide, setWide] = useState(false);
  const [action, setAction] = useState<Action>();
  const rights = useRights(kind, namespace);
  const shown = rows.shown.value;
  const at = cursor.value === undefined ? -1 : shown.findIndex((r) => r.key === cursor.value);
  const targets = () => {
    const list = [...chosen.value].map((key) => rows.get(key)).filter((r) => r !== undefined);
    return list.length ? list : shown[at] ? [shown[at]] : [];
  };
  const move = (to: number) => { cursor.value = shown[Math.max(0, Math.min(shown.length - 1, to))]?.key; };
  const act = (what: Action) => { if (targets().length) setAction(what); };
  useKeys(keys({ move, at, count: shown.length, search, act, rights, toggle: () => shown[at] && toggle(chosen, shown[at]),
    open: (tab) => shown[at] && go(address(kind, shown[at], tab)), create: () => go(href([...place(kind), "new"], { ns: namespace })) }));
  const columns = useMemo(() => columnsOf(kind, rows.columns.value, wide, !namespace && kind.namespaced, chosen),
    [kind, rows.columns.value, wide, namespace, chosen.value]);
  const sort = (index: number) => {
    const column = columns[index]!.source;
    if (column === undefined) return;
    const next = { column, down: order.column === column && !order.down };
    setOrder(next);
    void rows.sort(next);
  };
  const sorted = columns.findIndex((c) => c.source === order.column);
  return (
    <main class="page table-page">
      <div class="row">
        <h1>{kind.resource} <span class="count soft" role="status">{shown.length === rows.total.value ? shown.length : `${shown.length} of ${rows.total.value}`}</span></h1>
        <State live={live} />
        <span class="grow" />
        <a href={href(["documents", kind.group || "core", kind.version, kind.kind])}>Documents</a>
        {rights.create && <a class="button" href={href([...place(kind), "new"], { ns: namespace })}>Create</a>}
      </div>
      <div class="row filters">
        {kind.namespaced && <NamespaceField value={namespace} />}
        <input ref={search} type="search" aria-label="Search in the table" placeholder="Search  /" spellcheck={false} onInput={(e) => rows.search(e.currentTarget.value)} />
        <SelectorField label="Label selector" placeholder="Labels: app=web" value={labels} candidates={labelsOf(shown)} onChange={(v) => requery({ labels: v })} />
        <SelectorField label="Field selector" placeholder="Fields: metadata.name=web" value={fields} candidates={useFields(kind)} onChange={(v) => requery({ fields: v })} />
        <button type="button" aria-pressed={wide} onClick={() => setWide(!wide)}>Wide</button>
      </div>
      {chosen.value.size > 0 && (
        <div class="row chosen" role="group" aria-label="Chosen objects">
          <span>{chosen.value.size} chosen</span>
          {rights.patch && <button type="button" onClick={() => act("label")}>Label</button>}
          {rights.patch && <button type="button" onClick={() => act("annotate")}>Annotate</button>}
          {rights.delete && <button type="button" class="danger" onClick={() => act("delete")}>Delete</button>}
          <button type="button" class="quiet" onClick={() => { chosen.value = new Set(); }}>Choose none</button>
        </div>
      )}
      <Gone error={live.error.value} kind={kind} />
      <VirtualTable label={kind.resource} rows={shown} columns={columns} rowKey={(r) => r.key} sort={sorted >= 0 ? { column: sorted, down: order.down } : undefined}
        onSort={sort} cursor={at < 0 ? undefined : at} onCursor={move} onOpen={(r) => go(address(kind, r))} className={(r) => (chosen.value.has(r.key) ? "chosen-row" : "")} />
      {action && <Bulk action={action} kind={kind} rows={targets()} close={(done) => { setAction(undefined); if (done) chosen.value = new Set(); }} />}
    </main>
  );
}

function State({ live }: { live: Live }) {
  if (live.error.value) return null;
  const words = { loading: "loading", live: "live", broken: "connection lost, trying again" };
  return <span class={`state ${live.state.value}`} role="status">{words[live.state.value]}</span>;
}

function Gone({ error, kind }: { error: unknown; kind: Kind }) {
  if (error instanceof Refusal && error.code === 404) {
    return <Notice kind="warn">The server serves {kind.resource} no longer: their definition was deleted. The rows are the last that were seen. <a href={href(["objects"])}>Other kinds</a></Notice>;
  }
  return <Failure error={error} />;
}

function NamespaceField({ value }: { value: string }) {
  return (
    <>
      <input type="text" class="namespace" aria-label="Namespace" placeholder="All namespaces" list="namespaces" value={value} spellcheck={false} autocomplete="off"
        onChange={(e) => requery({ ns: e.currentTarget.value.trim() })} />
      <datalist id="namespaces">{namespaces.value.map((n) => <option key={n} value={n} />)}</datalist>
    </>
  );
}

/** requery changes a part of the address's query. An empty namespace is all of them. */
function requery(change: Record<string, string>): void {
  const { parts, query } = route.value;
  const next = new URLSearchParams(query);
  for (const [key, value] of Object.entries(change)) {
    if (value || key === "ns") next.set(key, value);
    else next.delete(key);
  }
  replace(`#/${(parts.length >= 4 ? parts : ["objects", "core", "v1", "namespaces"]).map(encodeURIComponent).join("/")}?${next.toString()}`);
}

interface Rights {
  create: boolean;
  patch: boolean;
  delete: boolean;
}

function useRights(kind: Kind, namespace: string): Rights {
  const ask = async (verb: string) => kind.verbs.includes(verb) && (await may(verb, kind, namespace));
  const loaded = useLoad(() => Promise.all(["create", "patch", "delete"].map(ask)), [kind.resource, kind.group, namespace]);
  const [create = false, patch = false, remove = false] = loaded.value ?? [];
  return { create, patch, delete: remove };
}

export function place(kind: Kind): string[] {
  return ["objects", kind.group || "core", kind.version, kind.resource];
}

export function address(kind: Kind, row: { namespace: string; name: string }, tab?: string): string {
  return href([...place(kind), row.namespace || "-", row.name], { tab, ns: route.value.query.get("ns") ?? undefined });
}

function toggle(chosen: { value: ReadonlySet<string> }, row: Row): void {
  const next = new Set(chosen.value);
  if (!next.delete(row.key)) next.add(row.key);
  chosen.value = next;
}

/** RowColumn is a column that knows which of the server's cells it shows. */
type RowColumn = TableColumn<Row> & { source?: number };

function columnsOf(kind: Kind, columns: Column[], wide: boolean, withNamespace: boolean, chosen: { value: ReadonlySet<string> }): RowColumn[] {
  const box: RowColumn = { title: "", width: "2rem", cell: (row) => (
    <input type="checkbox" aria-label={`Choose ${row.name}`} tabIndex={-1} checked={chosen.value.has(row.key)} onClick={(e) => e.stopPropagation()} onChange={() => toggle(chosen, row)} />
  ) };
  const ns: RowColumn[] = withNamespace ? [{ title: "Namespace", cell: (row) => row.namespace }] : [];
  const rest = columns.map((c, i) => ({ c, i })).filter(({ c }) => wide || !c.priority).map(({ c, i }): RowColumn => {
    const base = { title: c.name, help: c.description, source: i };
    if (c.format === "name" || i === 0) return { ...base, width: "minmax(14rem, 2fr)", cell: (row) => <a href={address(kind, row)} tabIndex={-1} title={row.name}>{String(row.cells[i] ?? row.name)}</a> };
    if (c.name === "Age") return { ...base, width: "5rem", cell: (row) => <time title={new Date(row.created).toISOString()}>{age(row.created)}</time> };
    return { ...base, cell: (row) => <span title={String(row.cells[i] ?? "")}>{String(row.cells[i] ?? "")}</span> };
  });
  return [box, ...ns, ...rest];
}

interface Moves {
  move: (to: number) => void;
  at: number;
  count: number;
  search: { current: HTMLInputElement | null };
  act: (action: Action) => void;
  rights: Rights;
  toggle: () => void;
  open: (tab?: string) => void;
  create: () => void;
}

function keys({ move, at, count, search, act, rights, toggle: choose, open, create }: Moves): Binding[] {
  return [
    { key: "/", does: "search", run: () => search.current?.focus() },
    { key: "j", does: "next row", run: () => move(at + 1) },
    { key: "ArrowDown", does: "next row", run: () => move(at + 1) },
    { key: "k", does: "row before", run: () => move(at - 1) },
    { key: "ArrowUp", does: "row before", run: () => move(at - 1) },
    { key: "PageDown", does: "twenty rows on", run: () => move(at + 20) },
    { key: "PageUp", does: "twenty rows back", run: () => move(at - 20) },
    { key: "g", does: "first row", run: () => move(0) },
    { key: "G", does: "last row", run: () => move(count - 1) },
    { key: " ", does: "choose the row", run: choose },
    { key: "Enter", does: "open the object", run: () => open() },
    { key: "d", does: "open the object", run: () => open() },
    { key: "e", does: "edit the object", run: () => open("edit") },
    ...(rights.create ? [{ key: "n", does: "create an object", run: create }] : []),
    ...(rights.delete ? [{ key: "ctrl+d", does: "delete the row or the chosen ones", run: () => act("delete") }] : []),
    ...(rights.patch ? [{ key: "l", does: "label the row or the chosen ones", run: () => act("label") }] : []),
  ];
}
