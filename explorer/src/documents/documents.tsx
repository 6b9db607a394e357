import { apiVersion } from "../api/discovery";
import { Lazy } from "../parts/lazy";
import { useLoad } from "../parts/load";
import { Failure, Notice } from "../parts/notice";
import { href, type Route } from "../route";
import { Changes } from "./changes";
import { Contents } from "./contents";
import { KindPage } from "./kind";
import { Search } from "./search";
import { findType } from "./types";
import { CompareVersions } from "./versions";

const definition = () => import("./definition").then((m) => m.Definition);

interface At {
  group: string;
  version: string;
  type: string;
}

/** Documents leads from an address to the search, a type with its fields, two versions of it, the changes, or the check of a definition. */
export function Documents({ route }: { route: Route }) {
  const [, group, version, type, path] = route.parts;
  const at = group === "core" ? "" : group;
  return (
    <>
      <Contents here={type ? { group: at!, type } : undefined} page={type ? "" : group ?? "search"} />
      {group === "changes" ? <Changes />
        : group === "definition" ? <Lazy load={definition} props={{}} />
        : !type ? <Search text={route.query.get("q") ?? ""} />
        : <TypePage key={`${at}/${version}/${type}`} group={at!} version={version!} type={type} path={path ?? ""} other={route.query.get("with")} />}
    </>
  );
}

function TypePage({ group, version, type, path, other }: At & { path: string; other: string | null }) {
  const { value, error, again } = useLoad(async () => ({ type: await findType({ group, version }, type) }), [group, version, type]);
  if (error) return <main class="page"><Failure error={error} retry={again} /></main>;
  if (!value) return <main class="page"><p class="soft" role="status">Reading the document of {apiVersion({ group, version })}…</p></main>;
  if (!value.type) return <main class="page"><Notice kind="warn">The document of {apiVersion({ group, version })} has no type {type}. <a href={href(["documents"], { q: type })}>Search for it</a></Notice></main>;
  return other ? <CompareVersions type={value.type} other={other} /> : <KindPage type={value.type} path={path} />;
}
