// node generate.mjs: writes src/gen/api.ts, the types of those kinds that the page itself speaks,
// from the OpenAPI documents that the server serves.
import fs from "node:fs";
import openapiTS, { astToString } from "openapi-typescript";

const documents = "../internal/gen/openapi/v3";
const wanted = {
  "api__v1.json": ["Event", "TokenRequest", "Namespace", "Secret", "Pod", "Service"],
  "apis__authentication.k8s.io__v1.json": ["SelfSubjectReview"],
  "apis__authorization.k8s.io__v1.json": ["SelfSubjectAccessReview", "SelfSubjectRulesReview"],
  "apis__discovery.k8s.io__v1.json": ["EndpointSlice"],
};
const meta = ["Status", "ObjectMeta", "OwnerReference", "ManagedFieldsEntry"];

const schemas = {};
for (const [file, kinds] of Object.entries(wanted)) {
  const all = JSON.parse(fs.readFileSync(`${documents}/${file}`, "utf8")).components.schemas;
  const take = (name) => {
    if (schemas[name]) return;
    schemas[name] = all[name];
    for (const [, ref] of JSON.stringify(all[name]).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) take(ref);
  };
  for (const name of Object.keys(all)) {
    const last = name.slice(name.lastIndexOf(".") + 1);
    const group = all[name]["x-kubernetes-group-version-kind"]?.[0]?.group;
    if (kinds.includes(last) && group !== undefined && (last !== "Event" || group === "")) take(name);
    if (meta.includes(last)) take(name);
  }
}
const sorted = Object.fromEntries(Object.keys(schemas).sort().map((name) => [name, schemas[name]]));
const types = await openapiTS({ openapi: "3.0.0", info: { title: "", version: "" }, paths: {}, components: { schemas: sorted } },
  { defaultNonNullable: false, emptyObjectsUnknown: true });
fs.mkdirSync("src/gen", { recursive: true });
fs.writeFileSync("src/gen/api.ts", astToString(types));
