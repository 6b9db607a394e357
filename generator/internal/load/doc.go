// Package load reads the documents: openapi/ and schemas/, with positions, into
// a model. A mistake is reported as "file:line: the mistake; the remedy". All mistakes that
// can be seen together are reported, not only the first.
//
// The steps are: check the form of every file, read it, resolve references, check facts that
// several files share, compile the tables, check facts that need the tables. A step runs only
// when those before it found nothing, because its reports would repeat theirs; a file with
// mistakes of form is read all the same.
//
// # Decisions
//
// The form of documents is in keys/, as JSON Schemas that editors understand too: keys, types,
// words, bounds of single values. The reference of keys is made of their descriptions. The
// readers, a table of functions by keys, take from a document what has the right form, and a test
// holds both to the same keys.
//
// The readers check what a JSON Schema cannot say, or not with a message as good: regular
// expressions in RE2, keys that are twice in a mapping, dotted numbers (2.10 is not 2.1), and all
// that depends on two keys, whose messages name both (checkPairs, checkBounds, checkRequired).
// They also refuse numbers and JSON that YAML can write and Go cannot hold.
//
// A module without a profile serves an API of its own. There the loader reads the built-in
// documents that its own documents refer to from itself (module.go).
package load
