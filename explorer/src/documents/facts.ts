import type { Schema } from "../api/openapi";

/** factsOf says what else a schema demands of a value, in words. */
export function factsOf(s: Schema): string[] {
  const facts: (string | undefined)[] = [
    s.enum && `one of ${s.enum.map((v) => JSON.stringify(v)).join(", ")}`,
    between(s),
    size("character", s.minLength, s.maxLength),
    size("item", s.minItems, s.maxItems),
    size("entr", s.minProperties, s.maxProperties),
    s.pattern && `matches ${s.pattern}`,
    s.uniqueItems ? "no item twice" : undefined,
    s.nullable ? "may be null" : undefined,
    s.default !== undefined ? `default ${JSON.stringify(s.default)}` : undefined,
    listType(s),
    s["x-kubernetes-map-type"] === "atomic" ? "owned as a whole" : undefined,
    s["x-kubernetes-patch-merge-key"] ? `strategic merge patches merge items by ${s["x-kubernetes-patch-merge-key"]}` : undefined,
    s["x-kubernetes-preserve-unknown-fields"] ? "unknown fields are kept" : undefined,
    s["x-kubernetes-embedded-resource"] ? "an object of any kind" : undefined,
  ];
  return facts.filter((f): f is string => !!f);
}

function between(s: Schema): string | undefined {
  const least = s.minimum !== undefined && `${s.exclusiveMinimum ? "more than" : "at least"} ${s.minimum}`;
  const largest = s.maximum !== undefined && `${s.exclusiveMaximum ? "less than" : "at most"} ${s.maximum}`;
  return [least, largest].filter(Boolean).join(", ") || undefined;
}

function size(what: string, least: number | undefined, largest: number | undefined): string | undefined {
  const many = (n: number) => `${n} ${what === "entr" ? (n === 1 ? "entry" : "entries") : n === 1 ? what : `${what}s`}`;
  if (least && largest !== undefined) return `${least} to ${many(largest)}`;
  return least ? `at least ${many(least)}` : largest !== undefined ? `at most ${many(largest)}` : undefined;
}

function listType(s: Schema): string | undefined {
  switch (s["x-kubernetes-list-type"]) {
    case "map": return `items are told apart by ${(s["x-kubernetes-list-map-keys"] ?? []).join(", ")}, and have owners of their own`;
    case "set": return "a set: no item twice, and each has an owner of its own";
    case "atomic": return "owned as a whole";
  }
  return undefined;
}

/** rulesOf are the rules in CEL. */
export function rulesOf(s: Schema): { rule: string; message?: string }[] {
  return (s["x-kubernetes-validations"] ?? []).map(({ rule, message, messageExpression }) => ({ rule, message: message ?? messageExpression }));
}
