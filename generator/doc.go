// Command generator is capstan-gen, for this repository: go run ./generator generate.
//
// # Decisions
//
// The documents are the source of truth, down to the numbers of the binary form. No schema is
// derived from Go types.
//
// Verbs are regular, so the generator writes rows and tables, neither handlers nor routes. A rule
// that a schema cannot express is a hook: the document names it, the generator puts a method into
// the Hooks interface of the group version, and server/internal/kinds/policy does not compile until the
// method is written.
//
// A mistake in a document is an error of the form "file:line: mistake; remedy". The folder
// generator/testdata/wrong holds one wrong document per mistake.
//
// The schema engine santhosh-tekuri/jsonschema checks the form of the documents by the JSON Schemas
// in generator/internal/load/keys, which are as strict as the JSON Schema meta-schema, and kin-openapi
// checks that the documents and the published ones are OpenAPI.
package main
