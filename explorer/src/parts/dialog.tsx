import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

/** Dialog is a window over the page. Escape closes it, if it may be closed. */
export function Dialog(props: { title: string; close?: () => void; wide?: boolean; children: ComponentChildren }) {
  const ref = useRef<HTMLDialogElement>(null);
  const title = useId();
  useEffect(() => {
    const before = document.activeElement;
    ref.current!.showModal();
    return () => { if (before instanceof HTMLElement) before.focus(); };
  }, []);
  return (
    <dialog ref={ref} class={props.wide ? "dialog wide" : "dialog"} aria-labelledby={title}
      onCancel={(event) => { event.preventDefault(); props.close?.(); }}>
      <header>
        <h2 id={title}>{props.title}</h2>
        {props.close && <button type="button" class="quiet" aria-label="Close" onClick={props.close}>✕</button>}
      </header>
      {props.children}
    </dialog>
  );
}
