import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { session } from "../api/session";
import type { KubeObject } from "../api/types";
import type { Box } from "./textbox";

/** Draft is a text that is not saved, with the object that it began with; a new object began with none. */
export interface Draft {
  base?: KubeObject;
  text: string;
}

/** drafts outlive their views, so that a look at another page loses nothing. They are in memory only, until the log-out. */
export const drafts = new Map<string, Draft>();

effect(() => { if (!session.value) drafts.clear(); });

window.addEventListener("beforeunload", (event) => { if (drafts.size) event.preventDefault(); });

/** useDraft keeps the text of a box, while the text differs from the saved one. */
export function useDraft(id: string, box: Box, saved: string, base?: KubeObject): void {
  const latest = useRef({ saved, base });
  latest.current = { saved, base };
  useEffect(() => {
    const keep = () => {
      if (!box.view) return;
      const text = box.read();
      if (session.value && text && text !== latest.current.saved) drafts.set(id, { base: latest.current.base, text });
      else drafts.delete(id);
    };
    const timer = setInterval(keep, 300);
    return () => {
      clearInterval(timer);
      keep();
    };
  }, [id, box]);
}
