// Package discovery describes a server to its clients: the resources of a catalog
// snapshot, as discovery and OpenAPI documents, the release, and the results of health
// checks.
//
// # Decisions
//
// The published OpenAPI documents are packed (internal/gen/openapi/packed, gzip, made at
// generation): they take 0.7 MB of the binary rather than 7.1, and most clients get them as they
// are. Nothing is unpacked at the start: the first reader without gzip, or the first custom
// resource, pays. The same documents as JSON next to them are for reviews.
package discovery
