import { signal } from "@preact/signals";
import { type Kind, pathOf } from "../api/discovery";
import type { Table } from "../api/types";
import { follow } from "../api/watch";
import { Rows } from "./rows";

export const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

export interface Scope {
  kind: Kind;
  namespace: string;
  labels: string;
  fields: string;
}

/** Live is a table that follows the server. */
export class Live {
  readonly rows = new Rows();
  readonly state = signal<"loading" | "live" | "broken">("loading");
  readonly error = signal<unknown>(undefined);
  private readonly end = new AbortController();

  constructor(readonly scope: Scope) {
    void this.run();
  }

  stop(): void {
    this.end.abort();
  }

  private async run(): Promise<void> {
    const { kind, namespace, labels, fields } = this.scope;
    const query = { labelSelector: labels || undefined, fieldSelector: fields || undefined };
    try {
      for await (const change of follow<Table, Table>(pathOf(kind, namespace), { accept: asTable, query, limit: 500, once: !kind.verbs.includes("watch"), signal: this.end.signal })) {
        if (change.is === "page") this.rows.page(change.list, change.first, change.last);
        else if (change.is === "events") this.rows.events(change.events);
        else this.state.value = change.is;
      }
    } catch (error) {
      this.error.value = error;
    }
  }
}
