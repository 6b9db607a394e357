// Package endpoints holds everything besides the verbs of stored objects: irregular
// subresources, reviews, and the documents and metrics of the server, a file for each.
//
// # Decisions
//
// Connections into the cluster (connect.go, proxy.go) go to the agent that a node reports, or to
// the address of a pod. Each address is checked when it is connected to, also the address of a
// name: loopback, link-local and metadata addresses would be those of the server's machine, and
// users write these objects (--connect-to-local-addresses permits them). Behind a service only
// endpoints that are pods count. Upgraded connections (SPDY, WebSockets) pass through as bytes.
// Links of pages behind a proxy, and of redirects, are changed to lead through it (passage.go),
// while the page is read.
package endpoints
