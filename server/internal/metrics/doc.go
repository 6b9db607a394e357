// Package metrics keeps the metrics of a server and its store, under the names of
// kube-apiserver 1.25 where it has them.
//
// # Decisions
//
// Metrics of requests get their labels after authorization: a user without rights creates no
// series.
package metrics
