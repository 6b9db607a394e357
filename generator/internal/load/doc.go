// Package load reads the documents: openapi/ and schemas/, with positions, into
// a model. A mistake is reported as "file:line: the mistake; the remedy". All mistakes that
// can be seen together are reported, not only the first.
//
// The steps are: read every file (unknown and repeated keys, wrong words), resolve
// references, check facts that several files share, compile the tables, check facts that
// need the tables. A step runs only when those before it found nothing, because its
// reports would repeat theirs.
//
// # Decisions
//
// A module without a profile serves an API of its own. There the loader reads the built-in
// documents that its own documents refer to from itself (module.go).
package load
