// What the JavaScript client does against a server: node smoke.mjs, with
// KUBECONFIG set. It ends with the first thing that is not as it has to be.
import assert from "node:assert/strict";
import * as k8s from "@kubernetes/client-node";

const config = new k8s.KubeConfig();
config.loadFromDefault();
const core = config.makeApiClient(k8s.CoreV1Api);
const apps = config.makeApiClient(k8s.AppsV1Api);
const objects = k8s.KubernetesObjectApi.makeApiClient(config);
const namespace = "default";
const as = (type) => k8s.setHeaderOptions("Content-Type", type);

const refused = async (code, reason, call) => {
  await assert.rejects(call, (error) => {
    assert.equal(error.code, code);
    assert.equal(JSON.parse(error.body).reason, reason);
    return true;
  });
};

// create, get, list
const web = (await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "web", labels: { suite: "node" } }, data: { a: "1" } } }));
assert.ok(web.metadata.uid);
assert.ok(web.metadata.creationTimestamp instanceof Date);
assert.deepEqual((await core.readNamespacedConfigMap({ name: "web", namespace })).data, { a: "1" });
await refused(404, "NotFound", () => core.readNamespacedConfigMap({ name: "nosuch", namespace }));
await refused(409, "AlreadyExists", () => core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "web" } } }));
await refused(422, "Invalid", () => core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "Not_A_Name" } } }));
for (const name of ["one", "two", "three"]) {
  await core.createNamespacedConfigMap({ namespace, body: { metadata: { name, labels: { suite: "node" } } } });
}
const names = [];
for (let page, next; !page || next; next = page.metadata._continue) {
  page = await core.listNamespacedConfigMap({ namespace, labelSelector: "suite=node", limit: 3, _continue: next });
  names.push(...page.items.map((item) => item.metadata.name));
}
assert.deepEqual(names, ["one", "three", "two", "web"]);

// watch, from the state that was listed
const since = (await core.listNamespacedConfigMap({ namespace })).metadata.resourceVersion;
const events = [];
let seen, ended;
const all = new Promise((resolve) => { seen = resolve; });
const watchEnd = new Promise((resolve) => { ended = resolve; });
const watch = await new k8s.Watch(config).watch(`/api/v1/namespaces/${namespace}/configmaps`, { resourceVersion: since },
  (type, object) => { events.push(`${type} ${object.metadata.name}`); if (events.length === 3) seen(); }, () => ended());
await core.replaceNamespacedConfigMap({ name: "web", namespace, body: { ...web, data: { a: "2" } } });
await refused(409, "Conflict", () => core.replaceNamespacedConfigMap({ name: "web", namespace, body: { ...web, data: { a: "3" } } }));
await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: "watched" } } });
await core.deleteNamespacedConfigMap({ name: "watched", namespace });
await all;
watch.abort();
await watchEnd;
assert.deepEqual(events, ["MODIFIED web", "ADDED watched", "DELETED watched"]);

// informer: the list, then what changes
const informer = k8s.makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () => core.listNamespacedConfigMap({ namespace, labelSelector: "suite=node" }), "suite=node");
const informed = new Promise((resolve) => informer.on("update", (object) => object.data?.b && resolve(object.metadata.name)));
informer.on("error", (error) => { if (error.type !== "aborted") throw error; }); // stop aborts
await informer.start();
assert.equal(informer.list().length, 4);

// patches of all kinds
const patch = (type, body) => core.patchNamespacedConfigMap({ name: "web", namespace, body, fieldManager: "node", ...(type === k8s.PatchStrategy.ServerSideApply ? { force: true } : {}) }, as(type));
await patch(k8s.PatchStrategy.MergePatch, { data: { b: "2" } });
assert.equal(await informed, "web");
await informer.stop();
await patch(k8s.PatchStrategy.JsonPatch, [{ op: "remove", path: "/data/a" }]);
await patch(k8s.PatchStrategy.StrategicMergePatch, { metadata: { finalizers: null, annotations: { note: "here" } } });
const applied = await patch(k8s.PatchStrategy.ServerSideApply, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "web" }, data: { c: "3" } });
assert.deepEqual(applied.data, { b: "2", c: "3" });
assert.equal(applied.metadata.annotations.note, "here");
assert.ok(applied.metadata.managedFields.some((entry) => entry.manager === "node" && entry.operation === "Apply"));

// scale and status of a deployment
const labels = { app: "web" };
await apps.createNamespacedDeployment({ namespace, body: { metadata: { name: "web" }, spec: { replicas: 1, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers: [{ name: "web", image: "registry.example.com/web:1" }] } } } } });
const scale = await apps.readNamespacedDeploymentScale({ name: "web", namespace });
assert.equal(scale.status.selector, "app=web");
scale.spec.replicas = 4;
await apps.replaceNamespacedDeploymentScale({ name: "web", namespace, body: scale });
const scaled = await apps.readNamespacedDeployment({ name: "web", namespace });
assert.equal(scaled.spec.replicas, 4);
assert.equal(scaled.metadata.generation, 2);
scaled.status = { observedGeneration: 2, replicas: 4 };
await apps.replaceNamespacedDeploymentStatus({ name: "web", namespace, body: scaled });
assert.equal((await apps.readNamespacedDeploymentStatus({ name: "web", namespace })).status.replicas, 4);

// objects of any kind, found by discovery
const secret = await objects.create({ apiVersion: "v1", kind: "Secret", metadata: { name: "any", namespace }, stringData: { word: "open" } });
assert.equal(Buffer.from(secret.data.word, "base64").toString(), "open");
await objects.delete(secret);

// delete, one and many
await apps.deleteNamespacedDeployment({ name: "web", namespace, propagationPolicy: "Background" });
const dry = await core.deleteNamespacedConfigMap({ name: "web", namespace, dryRun: "All" });
assert.equal(dry.status, "Success");
await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: "suite=node" });
assert.equal((await core.listNamespacedConfigMap({ namespace, labelSelector: "suite=node" })).items.length, 0);
console.log("all well");
