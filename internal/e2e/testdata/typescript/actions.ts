// What a client that was generated from the documents of a module does with its actions, at SERVER with TOKEN.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths as Fleet } from "./apis__fleet.example.com__v1beta1.js";

const fleet = createClient<Fleet>({ baseUrl: process.env.SERVER!, headers: { Authorization: `Bearer ${process.env.TOKEN}` } });
const path = { namespace: "default" };
const trucks = "/apis/fleet.example.com/v1beta1/namespaces/{namespace}/trucks";

await fleet.POST(trucks, { params: { path }, body: { metadata: { name: "ts" }, spec: { size: 3 } } });
const early = await fleet.POST(`${trucks}/{name}/restart`, { params: { path: { ...path, name: "ts" } }, body: { reason: "a test" } });
assert.equal(early.error?.reason, "Conflict");
await fleet.PATCH(`${trucks}/{name}/status`, {
  params: { path: { ...path, name: "ts" } }, body: { status: { ready: true } }, headers: { "Content-Type": "application/merge-patch+json" },
});
const given = await fleet.POST("/apis/fleet.example.com/v1beta1/namespaces/{namespace}/assignments", { params: { path }, body: { job: "sand" } });
assert.equal(given.response.status, 201);
assert.equal(given.data?.metadata?.labels?.job, "sand");
const wrong = await fleet.POST("/apis/fleet.example.com/v1beta1/namespaces/{namespace}/assignments", { params: { path }, body: { job: "" } });
assert.equal(wrong.error?.details?.causes?.[0]?.field, "job");

// a stream: one object a line
type Position = components["schemas"]["com.example.fleet.v1beta1.TruckPosition"];
const stream = await fleet.POST(`${trucks}/{name}/follow`, { params: { path: { ...path, name: "ts" } }, body: { count: 2 }, parseAs: "stream" });
const lines = (await new Response(stream.data as ReadableStream).text()).trim().split("\n").map((line) => JSON.parse(line) as Position);
assert.deepEqual(lines.map((position) => position.at), [3, 4]);

// errors: a refusal that the document names is an answer of the operation, with a type of its own
const assignments = "/apis/fleet.example.com/v1beta1/namespaces/{namespace}/assignments";
type Conflict = Fleet[typeof assignments]["post"]["responses"][409]["content"]["application/json"];
const none = await fleet.POST(assignments, { params: { path }, body: { job: "gravel" } });
const conflict: Conflict | undefined = none.error;
assert.deepEqual([none.response.status, conflict?.reason, conflict?.message], [409, "Conflict", "no truck is ready"]);

// deprecated: each answer has a warning
assert.match(stream.response.headers.get("Warning") ?? "", /^299 - "fleet.example.com\/v1beta1 follow of trucks is deprecated in v1.2\+, unavailable in v1.9\+; use tail of trucks"$/);

// verb: who may follow and create, as bob, needs another right to restart or to see the tail
const bob = createClient<Fleet>({ baseUrl: process.env.SERVER!, headers: { Authorization: "Bearer bobs" } });
const params = { path: { ...path, name: "ts" } };
const followed = await bob.POST(`${trucks}/{name}/follow`, { params, body: { count: 1 }, parseAs: "text" });
assert.equal(JSON.parse(String(followed.data)).at, 3);
for (const refused of [await bob.POST(`${trucks}/{name}/restart`, { params, body: { reason: "a test" } }), await bob.GET(`${trucks}/{name}/tail`, { params })]) {
  assert.deepEqual([refused.response.status, refused.error?.reason], [403, "Forbidden"]);
}
console.log("all well");
