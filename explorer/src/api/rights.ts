import { json } from "./client";
import type { Kind } from "./discovery";
import type { ResourceRule, SelfSubjectAccessReview, SelfSubjectRulesReview } from "./types";

/** Rules are what the user may do in a namespace. */
export class Rules {
  constructor(private readonly rules: ResourceRule[], private readonly complete: boolean) {}

  /** may tells whether a rule allows a verb. Where the server does not know all rules, everything may be allowed. */
  may(verb: string, kind: Kind): boolean {
    return !this.complete || this.rules.some((r) => has(r.verbs, verb) && has(r.apiGroups, kind.group) && has(r.resources, kind.resource));
  }
}

function has(values: string[] | undefined | null, value: string): boolean {
  return !!values && (values.includes("*") || values.includes(value));
}

const reviews = new Map<string, Promise<unknown>>();

/** forgetRights is for a new user. */
export function forgetRights(): void {
  reviews.clear();
}

/** once keeps an answer for a minute, since rights rarely change. */
function once<T>(key: string, ask: () => Promise<T>): Promise<T> {
  let answer = reviews.get(key) as Promise<T> | undefined;
  if (!answer) {
    answer = ask();
    reviews.set(key, answer);
    const forget = () => reviews.delete(key);
    answer.then(() => setTimeout(forget, 60_000), forget);
  }
  return answer;
}

/** rulesOf asks for the user's rules of a namespace. */
export function rulesOf(namespace: string): Promise<Rules> {
  return once(`rules ${namespace}`, async () => {
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectRulesReview", spec: { namespace } };
    const { status } = await json<SelfSubjectRulesReview>("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", { method: "POST", body });
    return new Rules(status?.resourceRules ?? [], !status?.incomplete);
  });
}

/** may asks one question. A server without reviews refuses the request itself, if it has to. */
export function may(verb: string, kind: Kind, namespace?: string, name?: string, subresource?: string): Promise<boolean> {
  const resourceAttributes = { verb, group: kind.group, version: kind.version, resource: kind.resource, subresource, namespace: kind.namespaced ? namespace : undefined, name };
  return once(JSON.stringify(resourceAttributes), async () => {
    const body = { apiVersion: "authorization.k8s.io/v1", kind: "SelfSubjectAccessReview", spec: { resourceAttributes } };
    try {
      const { status } = await json<SelfSubjectAccessReview>("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", { method: "POST", body });
      return status?.allowed ?? false;
    } catch {
      return true;
    }
  });
}
