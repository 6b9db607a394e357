import { useState } from "preact/hooks";
import { apiVersion, type Kind, kinds } from "../api/discovery";
import { useLoad } from "../parts/load";
import { go, href } from "../route";
import { namespace } from "../state";
import { address, readPath, writePath } from "./address";
import { Facts, Fields, type Links } from "./fields";
import { newField, readRecord, type Record, sinceOf } from "./record";
import { shortName, type TypeAt, walk } from "./types";

/** KindPage shows a type with all its fields. */
export function KindPage({ type, path }: { type: TypeAt; path: string }) {
  const { value: record, error } = useLoad(() => readRecord(), []);
  const served = kinds.value?.filter((k) => k.group === type.group && k.kind === type.name && type.kind) ?? [];
  const here = served.find((k) => k.version === type.version);
  const links: Links = {
    field: (p) => address(type, type.name, p),
    type: (ref) => address(type, shortName(type.document, ref)),
    isNew: (p, owner) => isNew(record, type, p, owner),
  };
  return (
    <main class="page documents">
      <h1>{type.name} <span class="soft">{apiVersion(type)}</span></h1>
      <p class="wrap">{type.schema.description}</p>
      {type.kind && <p class="soft">{error ? "This server has no record of changes." : record ? sinceOf(record, type, type.name) : "…"}</p>}
      {here && <Served kind={here} />}
      {served.length > 1 && <Versions type={type} all={served} />}
      <Facts schema={type.schema} />
      <Find type={type} />
      <h2>Fields</h2>
      <Fields document={type.document} schema={type.schema} links={links} here={readPath(path)} owner={type.name} />
    </main>
  );
}

function isNew(record: Record | undefined, type: TypeAt, path: string[], owner: string | undefined): string | undefined {
  const last = owner?.slice(owner.lastIndexOf(".") + 1) ?? "";
  return record && newField(record, type, last, path.at(-1)!) ? `new since ${record.release.version}` : undefined;
}

/** Served says how the objects of a kind are reached. */
function Served({ kind }: { kind: Kind }) {
  const objects = href(["objects", kind.group || "core", kind.version, kind.resource], { ns: kind.namespaced ? namespace.value : undefined });
  return (
    <p>
      {kind.verbs.includes("list") ? <a href={objects}>{kind.resource}</a> : <span class="mono">{kind.resource}</span>}
      {kind.short.length > 0 && ` (${kind.short.join(", ")})`}, {kind.namespaced ? "in namespaces" : "of the cluster"}: {kind.verbs.join(", ")}
      {kind.subresources.length > 0 && `; with ${kind.subresources.join(", ")}`}
    </p>
  );
}

function Versions({ type, all }: { type: TypeAt; all: Kind[] }) {
  return (
    <p>
      Versions: {all.map((k, i) => (
        <span key={k.version}>
          {i > 0 && ", "}
          {k.version === type.version ? <strong>{k.version}</strong> : <><a href={address(k, k.kind)}>{k.version}</a> (<a href={address(type, type.name, [], { with: k.version })}>compare</a>)</>}
        </span>
      ))}
    </p>
  );
}

/** mostFound bounds the fields that a search shows. */
const mostFound = 20;

/** Find finds fields of this type by parts of their paths. */
function Find({ type }: { type: TypeAt }) {
  const [text, setText] = useState("");
  const wanted = text.trim().toLowerCase();
  const found: string[][] = [];
  let all = 0;
  if (wanted) {
    walk(type.document, type.schema, (path) => {
      if (!writePath(path).toLowerCase().includes(wanted)) return;
      all++;
      if (found.length < mostFound) found.push(path);
    });
  }
  const lead = (path: string[]) => { setText(""); go(address(type, type.name, path)); };
  return (
    <form class="stack" role="search" onSubmit={(e) => { e.preventDefault(); if (found[0]) lead(found[0]); }}>
      <input type="search" aria-label={`Find a field of ${type.name}`} placeholder="Find a field" value={text} spellcheck={false} onInput={(e) => setText(e.currentTarget.value)} />
      {wanted && <p class="soft" role="status">{all === 0 ? "No field is called so." : all > found.length ? `The first ${found.length} of ${all}:` : `${all} found:`}</p>}
      {found.length > 0 && <ul class="found">{found.map((p) => <li key={writePath(p)}><a class="mono" href={address(type, type.name, p)} onClick={() => setText("")}>{writePath(p)}</a></li>)}</ul>}
    </form>
  );
}
