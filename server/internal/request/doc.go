// Package request is one request and its answer: what the request asks for, its body, its
// place among those that run, and the form of the answer. Verbs and endpoints work on it;
// package serve leads it there.
//
// # Decisions
//
// Renderings of objects are kept (renderings.go, --binary-cache-bytes): the binary form of an
// object costs more than all else in a list of such objects. A rendering belongs to a row, a key
// and a revision, so nothing has to invalidate it. The room for renderings is bounded, and a list
// longer than it still finds a part there.
package request
