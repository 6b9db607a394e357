import type { components } from "../gen/api";

type Schemas = components["schemas"];
export type Status = Schemas["io.k8s.apimachinery.pkg.apis.meta.v1.Status"];
export type ObjectMeta = Schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"];
export type OwnerReference = Schemas["io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference"];
export type ManagedFieldsEntry = Schemas["io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry"];
export type TokenRequest = Schemas["io.k8s.api.authentication.v1.TokenRequest"];
export type SelfSubjectReview = Schemas["io.k8s.api.authentication.v1.SelfSubjectReview"];
export type SelfSubjectAccessReview = Schemas["io.k8s.api.authorization.v1.SelfSubjectAccessReview"];
export type SelfSubjectRulesReview = Schemas["io.k8s.api.authorization.v1.SelfSubjectRulesReview"];
export type ResourceRule = Schemas["io.k8s.api.authorization.v1.ResourceRule"];
export type Event = Schemas["io.k8s.api.core.v1.Event"];
export type Pod = Schemas["io.k8s.api.core.v1.Pod"];
export type EndpointSlice = Schemas["io.k8s.api.discovery.v1.EndpointSlice"];

/** Value is any JSON value. */
export type Value = null | boolean | number | string | Value[] | { [key: string]: Value };
export type Fields = { [key: string]: Value };

/** KubeObject is an object of any kind. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
  [key: string]: unknown;
}

/** Table is the form of lists in which the server has chosen the columns. */
export interface Table {
  kind: "Table";
  metadata: { resourceVersion?: string; continue?: string; remainingItemCount?: number };
  columnDefinitions: Column[];
  rows: TableRow[];
}

export interface Column {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

export interface TableRow {
  cells: Value[];
  object: { metadata: ObjectMeta };
}
