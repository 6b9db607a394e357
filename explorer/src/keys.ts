import { useLayoutEffect, useState } from "preact/hooks";

/** Binding is a key with what it does, for the page of help too. */
export interface Binding {
  key: string; // as in KeyboardEvent.key, with ctrl+ before it
  does: string;
  run: (event: KeyboardEvent) => void;
}

/** The components that bind keys, by the order of their first render: a component comes after those that contain it. */
const shown = new Map<number, Binding[]>();
let next = 0;

/** bindings are those that count now; the innermost component's are last, and win. */
export function bindings(): Binding[] {
  return [...shown].sort(([a], [b]) => a - b).flatMap(([, list]) => list);
}

/** useKeys binds keys while the component is shown. They are bound before the browser paints, so that a quick second key finds what the first has done. */
export function useKeys(list: Binding[]): void {
  const [order] = useState(() => next++);
  useLayoutEffect(() => { shown.set(order, list); });
  useLayoutEffect(() => () => { shown.delete(order); }, [order]);
}

/** A key is for the element that has the focus, if that takes texts. */
function typing(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (typing(event)) {
    if (event.key === "Escape") (event.composedPath()[0] as HTMLElement).blur();
    return;
  }
  if ((event.key === "Enter" || event.key === " ") && event.target instanceof Element && event.target.closest("a, button, summary")) return;
  const name = (event.ctrlKey ? "ctrl+" : "") + event.key;
  const found = bindings().findLast((b) => b.key === name);
  if (found) {
    event.preventDefault();
    found.run(event);
  }
});
