// Package codec turns stored bytes into the representations that clients request and
// back: the binary form and its envelope, lists, tables, partial metadata, YAML, watch
// frames, and the negotiation between them.
//
// Stored objects are canonical JSON, and most functions here take that: they copy ranges
// of it instead of building trees. Append functions follow the convention of the standard
// library: they append to dst, which may be nil, and return the extended slice.
package codec
