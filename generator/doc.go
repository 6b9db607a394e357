// Command generator is capstan-gen, for this repository: go run ./generator generate.
//
// # Decisions
//
// The documents are the source of truth, down to the numbers of the binary form. No schema is
// derived from Go types.
package main
