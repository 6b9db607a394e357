// Package codec turns stored bytes into the representations that clients request and
// back: the binary form and its envelope, CBOR, lists, tables, partial metadata, YAML, watch
// frames, and the negotiation between them.
//
// Stored objects are canonical JSON, and most functions here take that: they copy ranges
// of it instead of building trees. Append functions follow the convention of the standard
// library: they append to dst, which may be nil, and return the extended slice.
//
// # Decisions
//
// The table cells of most kinds are expressions in the documents. The generator compiles them to
// judge them, and the server when the first table needs them; a cell costs some microseconds. Pods
// and endpoints, of which there are many, have functions instead. The cells of an object are kept,
// with the times in place of ages, and so is the size of its metadata: half of the cost of a list
// of pods as a table was the reading of both.
package codec
