import { useEffect, useRef, useState } from "preact/hooks";
import type { Document, Schema } from "../api/openapi";
import { factsOf, rulesOf } from "./facts";
import { type Field, fieldsOf, type Worded, wordType } from "./types";

/** Links says where the names in a tree of fields lead, and what is new. */
export interface Links {
  field?: (path: string[]) => string;
  type?: (ref: string) => string;
  isNew?: (path: string[], owner: string | undefined) => string | undefined; // the text of a badge
}

interface Props {
  document: Document;
  schema: Schema;
  links: Links;
  here: string[]; // the path that is looked at
  path?: string[];
  owner?: string; // the name of the schema that has the fields
}

/** part is the number of fields that are drawn at once. */
const part = 200;

/** Fields is the tree of the fields of a type. Fields in others are drawn when they are opened. */
export function Fields({ document, schema, links, here, path = [], owner }: Props) {
  const all = fieldsOf(document, schema);
  const [most, setMost] = useState(part);
  const linked = all.findIndex((f) => f.name === here[path.length]);
  const shown = Math.max(most, linked + 1);
  return (
    <ul class="fields">
      {all.slice(0, shown).map((f) => <FieldItem key={f.name} field={f} document={document} links={links} here={here} path={[...path, f.name]} owner={owner} />)}
      {shown < all.length && <li><button type="button" onClick={() => setMost(shown + part)}>{all.length - shown} more</button></li>}
    </ul>
  );
}

function FieldItem({ field, document, links, here, path, owner }: { field: Field; document: Document; links: Links; here: string[]; path: string[]; owner?: string }) {
  const within = path.every((name, i) => here[i] === name);
  const exact = within && here.length === path.length;
  const [open, setOpen] = useState(within || (path.length === 1 && path[0] === "spec"));
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => { if (within) setOpen(true); }, [here.join("\n")]);
  useEffect(() => { if (exact) row.current?.scrollIntoView({ block: "start" }); }, [exact]);
  const type = wordType(document, field.raw);
  const more = fieldsOf(document, field.raw).length > 0;
  const badge = links.isNew?.(path, owner);
  return (
    <li ref={row} class={exact ? "field here" : "field"} aria-current={exact ? "location" : undefined}>
      <div class="row">
        {more ? <button type="button" class="quiet fold" aria-expanded={open} aria-label={`Fields of ${path.join(".")}`} onClick={() => setOpen(!open)}>{open ? "▾" : "▸"}</button> : <span class="fold" />}
        {links.field ? <a class="mono name" href={links.field(path)}>{field.name}</a> : <span class="mono name">{field.name}</span>}
        <TypeName type={type} link={links.type} />
        {field.required && <span class="badge">required</span>}
        {badge && <span class="badge new">{badge}</span>}
      </div>
      <div class="about">
        {field.schema.description && <p class="wrap">{field.schema.description}</p>}
        <Facts schema={field.schema} />
        {field.schema.type === "array" && field.schema.items && <Facts schema={document.resolve(field.schema.items)} of="each item: " />}
      </div>
      {more && open && <Fields document={document} schema={field.raw} links={links} here={here} path={path} owner={type.ref ?? owner} />}
    </li>
  );
}

function TypeName({ type, link }: { type: Worded; link: Links["type"] }) {
  return <span class="soft">{type.before}{type.ref !== undefined && link ? <a href={link(type.ref)}>{type.text}</a> : type.text}</span>;
}

/** Facts lists the bounds, the default and the rules of a schema. */
export function Facts({ schema, of = "" }: { schema: Schema; of?: string }) {
  const facts = factsOf(schema);
  const rules = rulesOf(schema);
  if (!facts.length && !rules.length) return null;
  return (
    <ul class="facts">
      {facts.map((f) => <li key={f}>{of}{f}</li>)}
      {rules.map((r) => <li key={r.rule}>{of}rule <code>{r.rule}</code>{r.message && <>: {r.message}</>}</li>)}
    </ul>
  );
}
