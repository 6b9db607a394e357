import { useEffect, useRef, useState } from "preact/hooks";
import { currentToken } from "../api/client";
import type { Pod } from "../api/types";
import { Notice } from "../parts/notice";
import { containersOf } from "./pod";
import { Unreached } from "./logs";
import { plain } from "./terminal";

/** ShellTab runs sh in a container, line by line. */
export function ShellTab({ pod }: { pod: Pod }) {
  const names = containersOf(pod).map((c) => c.container.name);
  const [container, setContainer] = useState(names[0] ?? "");
  const [text, setText] = useState("");
  const [state, setState] = useState<"off" | "connecting" | "on">("off");
  const [error, setError] = useState<unknown>();
  const [ended, setEnded] = useState("");
  const socket = useRef<WebSocket | undefined>(undefined);
  const output = useRef<HTMLPreElement>(null);
  useEffect(() => () => socket.current?.close(), []);
  useEffect(() => { output.current?.scrollTo(0, output.current.scrollHeight); }, [text]);
  const print = (more: string) => setText((all) => (all + plain(more)).slice(-200_000));
  const start = () => {
    if (!pod.spec?.nodeName) {
      setError(new Error());
      return;
    }
    setError(undefined);
    setEnded("");
    setState("connecting");
    socket.current = connect(pod, container, print, () => setState("on"), (why, reached) => {
      setState("off");
      if (why && reached) setEnded(why);
      else if (why) setError(new Error(why));
    });
  };
  return (
    <div class="stack fill">
      <div class="row">
        <label for="shell-container">Container</label>
        <select id="shell-container" value={container} disabled={state !== "off"} onChange={(e) => setContainer(e.currentTarget.value)}>{names.map((n) => <option key={n}>{n}</option>)}</select>
        {state === "off" ? <button type="button" class="primary" onClick={start}>Start sh</button> : <button type="button" onClick={() => socket.current?.close()}>Stop</button>}
        <span class="soft" role="status">{state === "on" ? "connected" : state === "connecting" ? "connecting" : ""}</span>
      </div>
      {error !== undefined && <Unreached error={error} pod={pod} />}
      {ended && <Notice>The shell has ended: {ended}</Notice>}
      <pre ref={output} class="terminal" tabIndex={0} aria-label="Output">{text}</pre>
      {state === "on" && <InputLine send={(line) => { print(`$ ${line}\n`); socket.current?.send(frame(line + "\n")); }} />}
    </div>
  );
}

function InputLine({ send }: { send: (line: string) => void }) {
  return (
    <form class="row" onSubmit={(e) => {
      e.preventDefault();
      const field = e.currentTarget.elements.namedItem("line") as HTMLInputElement;
      send(field.value);
      field.value = "";
    }}>
      <input name="line" class="grow mono" aria-label="Command" placeholder="A command, then Enter" autocomplete="off" spellcheck={false} autofocus />
    </form>
  );
}

/** The first byte of a frame is its channel: 0 input, 1 and 2 output, 3 the end's status. */
function frame(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new TextEncoder().encode(text);
  const out = new Uint8Array(bytes.length + 1);
  out.set(bytes, 1);
  return out;
}

function connect(pod: Pod, container: string, print: (text: string) => void, opened: () => void, closed: (why: string, reached: boolean) => void): WebSocket {
  const { name, namespace } = pod.metadata!;
  const query = new URLSearchParams([["container", container], ["command", "sh"], ["stdin", "true"], ["stdout", "true"], ["stderr", "true"]]);
  const token = currentToken();
  const bearer = token ? [`base64url.bearer.authorization.k8s.io.${btoa(token).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`] : [];
  const socket = new WebSocket(`wss://${location.host}/api/v1/namespaces/${namespace}/pods/${name}/exec?${query.toString()}`, ["v4.channel.k8s.io", ...bearer]);
  socket.binaryType = "arraybuffer";
  const decoders = [new TextDecoder(), new TextDecoder(), new TextDecoder(), new TextDecoder()]; // a letter may be cut by the end of a frame
  let reached = false;
  let why = "The server refused the connection, or could not reach the node’s agent.";
  socket.onopen = () => { why = ""; reached = true; opened(); };
  socket.onmessage = ({ data }) => {
    const bytes = new Uint8Array(data as ArrayBuffer);
    const text = decoders[bytes[0]!]?.decode(bytes.subarray(1), { stream: true }) ?? "";
    if (bytes[0] === 1 || bytes[0] === 2) print(text);
    else if (bytes[0] === 3) why = ending(text);
  };
  socket.onclose = () => closed(why, reached);
  return socket;
}

function ending(text: string): string {
  try {
    const status = JSON.parse(text) as { status?: string; message?: string };
    return status.status === "Success" ? "" : status.message ?? text;
  } catch {
    return text;
  }
}
