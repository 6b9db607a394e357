import { useState } from "preact/hooks";
import { apiVersion } from "../api/discovery";
import { useLoad } from "../parts/load";
import { Failure, Notice } from "../parts/notice";
import { Plain } from "../parts/plain";
import { address, readPath, writePath } from "./address";
import { factsOf, rulesOf } from "./facts";
import { findType, type TypeAt, walk, wordType } from "./types";

/** CompareVersions shows two versions of a kind next to each other. */
export function CompareVersions({ type, other }: { type: TypeAt; other: string }) {
  const { value, error, again } = useLoad(async () => ({ type: await findType({ group: type.group, version: other }, type.name) }), [type, other]);
  const [all, setAll] = useState(false);
  if (error) return <main class="page"><Failure error={error} retry={again} /></main>;
  if (!value) return <main class="page"><p class="soft" role="status">Reading the document of {apiVersion({ group: type.group, version: other })}…</p></main>;
  if (!value.type) return <main class="page"><Notice kind="warn">{apiVersion({ group: type.group, version: other })} has no kind {type.name}.</Notice></main>;
  const rows = compare(type, value.type);
  const different = rows.filter((r) => r.mark);
  return (
    <main class="page documents">
      <h1>{type.name}: {type.version} and {other}</h1>
      <p><a href={address(type, type.name)}>{type.version}</a> · <a href={address(value.type, type.name)}>{other}</a></p>
      <div class="row">
        <p class="grow" role="status">{different.length} of {rows.length} fields differ.</p>
        <label class="choice"><input type="checkbox" checked={all} onChange={() => setAll(!all)} /> all fields</label>
      </div>
      {(all ? rows : different).length > 0 && (
        <Plain label="Fields of both versions" heads={["Field", "Difference", type.version, other]}>
          {(all ? rows : different).map((r) => (
            <tr key={r.path} class={r.mark ? "differs" : ""}>
              <td class="mono wrap">{r.path}</td>
              <td>{r.mark}</td>
              <td class="wrap">{r.left ? <a href={address(type, type.name, readPath(r.path))}>{r.left}</a> : "–"}</td>
              <td class="wrap">{r.right ? <a href={address(value.type!, type.name, readPath(r.path))}>{r.right}</a> : "–"}</td>
            </tr>
          ))}
        </Plain>
      )}
    </main>
  );
}

interface Compared {
  path: string;
  mark: string;
  left?: string;
  right?: string;
}

/** compare lists the fields of both. Fields inside of a field that only one version has are left out. */
export function compare(left: TypeAt, right: TypeAt): Compared[] {
  const [a, b] = [flatten(left), flatten(right)];
  const paths = [...new Set([...a.keys(), ...b.keys()])].sort((x, y) => x.localeCompare(y));
  const alone: string[] = [];
  return paths.flatMap((path) => {
    if (alone.some((above) => path.startsWith(`${above}.`))) return [];
    const [l, r] = [a.get(path), b.get(path)];
    if (l === undefined || r === undefined) alone.push(path);
    return [{ path, left: l, right: r, mark: l === undefined ? `only ${right.version}` : r === undefined ? `only ${left.version}` : l === r ? "" : "differs" }];
  });
}

/** flatten has all that counts about each field, in words. */
function flatten({ document, schema }: TypeAt): Map<string, string> {
  const out = new Map<string, string>();
  walk(document, schema, (path, field) => {
    const type = wordType(document, field.raw);
    out.set(writePath(path), [type.before + type.text, ...(field.required ? ["required"] : []), ...factsOf(field.schema), ...rulesOf(field.schema).map((r) => `rule ${r.rule}`)].join("; "));
  });
  return out;
}
