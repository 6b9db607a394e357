// Package codec turns stored bytes into what clients asked for and back: the
// binary form and its envelope, lists, tables for people, partial metadata,
// YAML, watch frames, and the negotiation between them.
//
// What is stored is canonical JSON, and that is what most functions here take:
// they copy ranges of it instead of building trees. Append functions follow the
// convention of the standard library: they append to dst, which may be nil, and
// return the extended slice.
package codec
