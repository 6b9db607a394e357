import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { explain } from "../api/status";

/** Notice is a message in the flow of a page. */
export function Notice(props: { kind?: "info" | "good" | "bad" | "warn"; children: ComponentChildren }) {
  const kind = props.kind ?? "info";
  return <div class={`notice ${kind}`} role={kind === "bad" ? "alert" : "status"}>{props.children}</div>;
}

/** Failure is the notice of an error; nothing without one. */
export function Failure(props: { error: unknown; retry?: () => void }) {
  if (!props.error) return null;
  return (
    <Notice kind="bad">
      <span>{explain(props.error)}</span>
      {props.retry && <button type="button" onClick={props.retry}>Try again</button>}
    </Notice>
  );
}

interface Toast {
  id: number;
  text: string;
  kind: "good" | "bad";
}

const toasts = signal<Toast[]>([]);
let next = 0;

/** toast shows a message at the page's corner for some seconds. */
export function toast(text: string, kind: "good" | "bad" = "good"): void {
  const id = next++;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind }];
  setTimeout(() => { toasts.value = toasts.value.filter((t) => t.id !== id); }, kind === "bad" ? 12_000 : 5_000);
}

/** Toasts is where these messages are shown. */
export function Toasts() {
  return (
    <div class="toasts" aria-live="polite">
      {toasts.value.map((t) => <div key={t.id} class={`notice ${t.kind}`}>{t.text}</div>)}
    </div>
  );
}
