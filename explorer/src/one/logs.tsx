import { useEffect, useRef, useState } from "preact/hooks";
import { aborted, send } from "../api/client";
import { lines } from "../api/lines";
import { explain } from "../api/status";
import type { Pod } from "../api/types";
import { Notice } from "../parts/notice";
import { containersOf } from "./pod";
import { plain } from "./terminal";

const kept = 5000;

/** LogsTab follows the log of a container. */
export function LogsTab({ pod }: { pod: Pod }) {
  const names = containersOf(pod).map((c) => c.container.name);
  const [container, setContainer] = useState(names[0] ?? "");
  const [text, setText] = useState<string[]>([]);
  const [state, setState] = useState("connecting");
  const [error, setError] = useState<unknown>();
  const bottom = useRef<HTMLPreElement>(null);
  const { name, namespace, uid } = pod.metadata!;
  useEffect(() => {
    if (!pod.spec?.nodeName) {
      setState("");
      setError(new Error());
      return;
    }
    const end = new AbortController();
    setText([]);
    setError(undefined);
    setState("connecting");
    read(`/api/v1/namespaces/${namespace}/pods/${name}/log`, container, end.signal, (batch) => setText((all) => [...all, ...batch].slice(-kept)), () => setState("following"))
      .then(() => setState("ended"), (e: unknown) => { if (!aborted(e)) { setError(e); setState("ended"); } });
    return () => end.abort();
  }, [container, uid, pod.spec?.nodeName]);
  useEffect(() => { bottom.current?.scrollTo(0, bottom.current.scrollHeight); }, [text]);
  return (
    <div class="stack fill">
      <div class="row">
        <label for="log-container">Container</label>
        <select id="log-container" value={container} onChange={(e) => setContainer(e.currentTarget.value)}>{names.map((n) => <option key={n}>{n}</option>)}</select>
        <span class="soft" role="status">{state}</span>
      </div>
      {error !== undefined && <Unreached error={error} pod={pod} />}
      <pre ref={bottom} class="terminal" tabIndex={0} aria-label={`Log of ${container}`}>{text.join("\n")}</pre>
    </div>
  );
}

/** Unreached says why there is no connection to the pod's node. */
export function Unreached({ error, pod }: { error: unknown; pod: Pod }) {
  const why = !pod.spec?.nodeName ? "The pod has no node yet: no scheduler has placed it, and this server has none." : explain(error);
  return <Notice kind="warn">{/[.!?]$/.test(why) ? why : `${why}.`} Logs and shells come from the agent of the pod’s node, which the server has to reach at the address in the node’s status.</Notice>;
}

async function read(path: string, container: string, signal: AbortSignal, add: (lines: string[]) => void, begun: () => void): Promise<void> {
  const answer = await send(path, { accept: "*/*", query: { container, follow: "true", tailLines: 1000 }, signal });
  begun();
  let batch: string[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    add(batch);
    batch = [];
  };
  for await (const line of lines(answer.body!, true)) {
    batch.push(plain(line));
    timer ??= setTimeout(flush, 100);
  }
  if (batch.length) flush();
}
