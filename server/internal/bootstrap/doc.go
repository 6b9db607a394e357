// Package bootstrap holds the objects that every cluster has from its start, as data: one
// YAML file for each kind. A file has its apiVersion and kind, the labels and annotations
// common to its objects, and under items the rest of each object: name, namespace and
// labels go to its metadata, the other members are those of the kind. <groupSuffix> and
// <labelDomain> stand for the names of the profile.
//
// # Decisions
//
// Bootstrap objects, and an API service for each group version, are written while the first
// requests are served. The endpoint /readyz waits for them, the port does not.
package bootstrap
