import { json } from "./client";
import type { Value } from "./types";

/** Schema is the part of OpenAPI v3 that the server's documents use. */
export interface Schema {
  $ref?: string;
  allOf?: Schema[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  type?: string;
  format?: string;
  description?: string;
  default?: Value;
  enum?: Value[];
  nullable?: boolean;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: boolean;
  exclusiveMaximum?: boolean;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  minProperties?: number;
  maxProperties?: number;
  uniqueItems?: boolean;
  pattern?: string;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
  "x-kubernetes-group-version-kind"?: { group: string; version: string; kind: string }[];
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-map-type"?: string;
  "x-kubernetes-patch-merge-key"?: string;
  "x-kubernetes-patch-strategy"?: string;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
  "x-kubernetes-validations"?: { rule: string; message?: string; messageExpression?: string }[];
}

/** The schema of values of any type, which says that they are objects. */
const anyValue = "io.k8s.apimachinery.pkg.runtime.RawExtension";

/** Document is the OpenAPI document of one group version. */
export class Document {
  constructor(readonly schemas: Record<string, Schema>) {}

  /** resolve follows references. What stands next to a reference wins over what is referred to. */
  resolve(schema: Schema): Schema {
    let s = schema;
    for (let depth = 0; depth < 20; depth++) {
      const ref = s.$ref ?? (s.allOf?.length === 1 ? s.allOf[0]!.$ref : undefined);
      if (!ref) break;
      const { $ref: _ref, allOf: _all, ...own } = s;
      s = { ...this.schemas[nameOf(ref)], ...own };
      if (nameOf(ref) === anyValue) delete s.type;
    }
    return s;
  }

  /** find finds the name of the schema of a kind. */
  find(group: string, version: string, kind: string): string | undefined {
    return Object.keys(this.schemas).find((name) =>
      this.schemas[name]!["x-kubernetes-group-version-kind"]?.some((g) => g.group === group && g.version === version && g.kind === kind));
  }
}

/** nameOf is the name of the schema that a reference leads to. */
export function nameOf(ref: string): string {
  return decodeURIComponent(ref.slice(ref.lastIndexOf("/") + 1)).replaceAll("~1", "/").replaceAll("~0", "~");
}

const documents = new Map<string, Promise<Document>>();

interface Index {
  paths: Record<string, { serverRelativeURL: string }>;
}

/** openapiIndex lists the documents: from "apis/apps/v1" to the address of its document, which has a hash of its content. */
export async function openapiIndex(): Promise<Map<string, string>> {
  const { paths } = await json<Index>("/openapi/v3", { cache: "no-cache" });
  return new Map(Object.entries(paths).map(([key, { serverRelativeURL }]) => [key, serverRelativeURL]));
}

/** openapi loads the document of a group version. A changed document has another address, so that none is read twice. */
export async function openapi(group: string, version: string): Promise<Document> {
  const key = group ? `apis/${group}/${version}` : `api/${version}`;
  const address = (await openapiIndex()).get(key);
  if (!address) throw new Error(`The server has no OpenAPI document of ${key}.`);
  let document = documents.get(address);
  if (!document) {
    document = json<{ components?: { schemas?: Record<string, Schema> } }>(address, { cache: "default" }).then((d) => new Document(d.components?.schemas ?? {}));
    document.catch(() => documents.delete(address));
    documents.set(address, document);
  }
  return document;
}
