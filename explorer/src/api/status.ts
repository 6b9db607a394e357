import type { Status } from "./types";

export type Cause = { reason?: string; message?: string; field?: string };

/** Refusal is an answer of the server that is an error. */
export class Refusal extends Error {
  constructor(readonly status: Status) {
    super(status.message || status.reason || `The server answered with code ${status.code}.`);
  }

  get code(): number {
    return this.status.code ?? 0;
  }

  get reason(): string {
    return this.status.reason ?? "";
  }

  get causes(): Cause[] {
    return (this.status.details?.causes ?? []) as Cause[];
  }
}

/** Unreachable is the lack of an answer: the connection broke, or there was none. */
export class Unreachable extends Error {
  constructor() {
    super("The server cannot be reached. Check that it runs and that the network is up, then try again.");
  }
}

/** readRefusal makes an error of an answer. Proxies answer with texts instead of a Status. */
export async function readRefusal(answer: Response): Promise<Refusal> {
  const text = await answer.text().catch(() => "");
  try {
    const status = JSON.parse(text) as Status;
    if (status.kind === "Status") return new Refusal({ ...status, code: status.code ?? answer.status });
  } catch {
    // Not a Status: its text is the message.
  }
  const message = text.trim().slice(0, 500) || `The server answered with code ${answer.status}.`;
  return new Refusal({ metadata: {}, status: "Failure", code: answer.status, message } as Status);
}

/** explain is an error in words for people: of refused requests, the right that is missing. */
export function explain(error: unknown): string {
  if (error instanceof Refusal && error.code === 403) {
    const right = /User "(.*?)" cannot (\S+) resource "(.*?)" in API group "(.*?)"(?: in the namespace "(.*?)")?/.exec(error.message);
    if (right) {
      const [, user, verb, resource, group, namespace] = right;
      return `You (${user}) may not do this. Missing right: verb “${verb}” for “${resource}”` +
        `${group ? ` of group “${group}”` : ""} ${namespace ? `in namespace “${namespace}”` : "in all namespaces"}. ` +
        `An administrator can grant it by a role and a binding.`;
    }
    const path = /User "(.*?)" cannot (\S+) path "(.*?)"/.exec(error.message);
    if (path) {
      const [, user, verb, place] = path;
      return `You (${user}) may not do this. Missing right: verb “${verb}” for the path “${place}”. An administrator can grant it by a cluster role with nonResourceURLs and a binding.`;
    }
  }
  if (error instanceof Refusal && error.code === 413) return `${error.message}. Split the object: large data does not belong into objects.`;
  return error instanceof Error ? error.message : String(error);
}
