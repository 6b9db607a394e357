// Package schema holds the tables that describe the documents' types, and the
// compiler that makes them.
//
// A Table is plain static data: the generator writes one per group version as
// a Go composite literal that needs no work at start-up, and the same compiler
// makes one at run time from a custom resource definition. Everything that
// looks at objects (decoding, defaulting, validation, patches, the binary form,
// tables for people) is driven by it.
//
// # Decisions
//
// The presence of a field is one of three: implicit (a zero value counts as absent), explicit (a
// zero that was sent stays) or always (the field is written even when it was not sent). These are
// the three behaviours that clients see. The documents choose one (x-cluster-presence), with a
// default that is right for nearly all fields.
package schema
