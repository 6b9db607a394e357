import { apiVersion, kinds } from "../api/discovery";
import { Refusal } from "../api/status";
import { useLoad } from "../parts/load";
import { Failure, Notice } from "../parts/notice";
import { address } from "./address";
import { readRecord, type Record } from "./record";

/** Changes shows what is new since the last release, and what breaks clients. */
export function Changes() {
  const { value, error, again } = useLoad(() => readRecord(), []);
  return (
    <main class="page documents">
      <h1>What changed since the last release</h1>
      {error instanceof Refusal && error.code === 404 ? <Notice>This server has no record of changes.</Notice> : <Failure error={error} retry={again} />}
      {!value && !error && <p class="soft" role="status">Reading the record…</p>}
      {value && <Recorded record={value} />}
    </main>
  );
}

function Recorded({ record }: { record: Record }) {
  const known = new Set(record.versions.map(apiVersion));
  const served = new Set((kinds.value ?? []).map(apiVersion));
  const unknown = [...served].filter((v) => !known.has(v)).sort();
  return (
    <>
      <p class="soft">The kinds that the server itself has, next to release {record.release.version} of {record.release.date}. The same gate decides whether a release may be made (capstan-gen compat).</p>
      <h2>What breaks clients, or may</h2>
      {!record.broken.length && <p>Nothing.</p>}
      {record.broken.map((b) => (
        <section key={b.level + b.rule} class="stack">
          <h3><span class={b.level === "error" ? "badge bad" : "badge"}>{b.level}</span> {b.rule}</h3>
          <p>{b.why}. Remedy: {b.mend}.</p>
          <ul>{b.findings.map((f) => <li key={f} class="wrap">{f}</li>)}</ul>
        </section>
      ))}
      <h2>New</h2>
      {!record.added.length && <p>Nothing.</p>}
      {record.added.map((a) => <Added key={apiVersion(a)} added={a} served={served.has(apiVersion(a))} />)}
      {unknown.length > 0 && <p class="soft wrap">There is no record of {unknown.join(", ")}: these are of definitions, extension servers, or another module.</p>}
    </>
  );
}

function Added({ added: a, served }: { added: Record["added"][number]; served: boolean }) {
  const link = (type: string, field?: string) => (served ? <a class="mono" href={address(a, type, field ? [field] : [])}>{field ?? type}</a> : <span class="mono">{field ?? type}</span>);
  return (
    <section class="stack">
      <h3>{apiVersion(a)} {a.new && <span class="badge new">new version</span>} {!served && <span class="badge">not served here</span>}</h3>
      {a.kinds && <p>Kinds: {a.kinds.map((k, i) => <span key={k}>{i > 0 && ", "}{link(k)}</span>)}</p>}
      {a.resources && <p>Resources: {a.resources.map((r, i) => <span key={r}>{i > 0 && ", "}<code>{r}</code></span>)}</p>}
      {Object.entries(a.fields ?? {}).map(([type, names]) => <p key={type}>{link(type)}: {names.map((f, i) => <span key={f}>{i > 0 && ", "}{link(type, f)}</span>)}</p>)}
    </section>
  );
}
