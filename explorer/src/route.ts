import { signal } from "@preact/signals";
import type { ComponentType } from "preact";

/** Route is where the page is: the parts of the hash's path, and its query. */
export interface Route {
  parts: string[];
  query: URLSearchParams;
}

/** Module is a view of the page with its place in the navigation. */
export interface Module {
  title: string;
  key: string; // that leads to it
  path: string; // the first part of its addresses: #/path/…
  View: ComponentType<{ route: Route }>;
}

export const route = signal<Route>(read());

function read(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const parts = path.split("/").filter(Boolean).map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { parts, query: new URLSearchParams(query) };
}

window.addEventListener("hashchange", () => { route.value = read(); });

/** href is the address of a place in the page. */
export function href(parts: string[], query: Record<string, string | undefined> = {}): string {
  const pairs = Object.entries(query).filter((pair): pair is [string, string] => !!pair[1]);
  return `#/${parts.map(encodeURIComponent).join("/")}${pairs.length ? "?" + new URLSearchParams(pairs).toString() : ""}`;
}

/** go leads to an address of the page. */
export function go(address: string): void {
  location.hash = address;
}

/** replace changes the address without an entry in the history, as for a search while it is typed. */
export function replace(address: string): void {
  history.replaceState(null, "", address);
  route.value = read();
}
