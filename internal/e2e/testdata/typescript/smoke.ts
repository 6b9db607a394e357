// What a client that was generated from the published documents does against a server, at
// SERVER with TOKEN. It ends with the first thing that is not as it has to be.
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths as Apps } from "./apis__apps__v1.js";
import type { paths as Core } from "./api__v1.js";
import type { paths as Boats } from "./apis__harbour.example.com__v1.js";

const options = { baseUrl: process.env.SERVER!, headers: { Authorization: `Bearer ${process.env.TOKEN}` } };
const core = createClient<Core>(options);
const apps = createClient<Apps>(options);
const boats = createClient<Boats>(options);
const path = { namespace: "default" };

// create without any member that has a default, and read
type Deployment = components["schemas"]["io.k8s.api.apps.v1.Deployment"];
const web: Deployment = {
  metadata: { name: "web" },
  spec: {
    selector: { matchLabels: { app: "web" } },
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image: "example.com/web:1", ports: [{ containerPort: 80 }] }] } },
  },
};
const created = await apps.POST("/apis/apps/v1/namespaces/{namespace}/deployments", { params: { path }, body: web });
assert.equal(created.response.status, 201);
assert.equal(created.data?.spec?.replicas, 1);
assert.equal(created.data?.spec?.template.spec?.containers[0]?.ports?.[0]?.protocol, "TCP");

// refusals are a Status
const again = await apps.POST("/apis/apps/v1/namespaces/{namespace}/deployments", { params: { path }, body: web });
assert.equal(again.error?.reason, "AlreadyExists");
const nothing = await core.GET("/api/v1/namespaces/{namespace}/configmaps/{name}", { params: { path: { ...path, name: "nosuch" } } });
assert.equal(nothing.error?.code, 404);
const wrong = await core.POST("/api/v1/namespaces/{namespace}/configmaps", { params: { path }, body: { metadata: { name: "Not_A_Name" } } });
assert.equal(wrong.error?.details?.causes?.[0]?.field, "metadata.name");
const nobody = await createClient<Core>({ baseUrl: options.baseUrl, headers: { Authorization: "Bearer wrong" } }).GET("/api/v1/namespaces");
assert.equal(nobody.error?.code, 401);

// list by pages, patch, replace with a conflict, scale
for (const name of ["one", "two", "three"]) {
  await core.POST("/api/v1/namespaces/{namespace}/configmaps", { params: { path }, body: { metadata: { name, labels: { suite: "ts" } }, data: { a: "1" } } });
}
const list = (next: string) =>
  core.GET("/api/v1/namespaces/{namespace}/configmaps", { params: { path, query: { labelSelector: "suite=ts", limit: 2, ...(next && { continue: next }) } } });
const names: (string | undefined)[] = [];
let next = "";
do {
  const page = (await list(next)).data!;
  names.push(...page.items.map((item) => item.metadata?.name));
  next = page.metadata?.continue ?? "";
} while (next);
assert.deepEqual(names, ["one", "three", "two"]);
const patched = await core.PATCH("/api/v1/namespaces/{namespace}/configmaps/{name}", {
  params: { path: { ...path, name: "one" } }, body: { data: { b: "2" } }, headers: { "Content-Type": "application/merge-patch+json" },
});
assert.deepEqual(patched.data?.data, { a: "1", b: "2" });
patched.data!.metadata!.resourceVersion = "1";
const late = await core.PUT("/api/v1/namespaces/{namespace}/configmaps/{name}", { params: { path: { ...path, name: "one" } }, body: patched.data! });
assert.equal(late.error?.reason, "Conflict");
const scale = await apps.GET("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", { params: { path: { ...path, name: "web" } } });
assert.equal(scale.data?.spec?.replicas, 1);

// a custom resource, which has to name its kind
const boatKind = { apiVersion: "harbour.example.com/v1", kind: "Boat" };
const boat = await boats.POST("/apis/harbour.example.com/v1/namespaces/{namespace}/boats", { params: { path }, body: { ...boatKind, metadata: { name: "anna" }, spec: { length: 3 } } });
assert.equal(boat.data?.spec?.flag, "none");
const short = await boats.POST("/apis/harbour.example.com/v1/namespaces/{namespace}/boats", { params: { path }, body: { ...boatKind, metadata: { name: "bea" }, spec: { length: 0 } } });
assert.equal(short.error?.code, 422);

// delete
const gone = await apps.DELETE("/apis/apps/v1/namespaces/{namespace}/deployments/{name}", { params: { path: { ...path, name: "web" }, query: { propagationPolicy: "Background" } } });
assert.equal(gone.response.status, 200);
console.log("all well");
