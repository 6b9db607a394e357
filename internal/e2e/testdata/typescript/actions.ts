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
console.log("all well");
