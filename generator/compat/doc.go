// Package compat compares two states of an API and finds the changes that break clients,
// stored objects, or the promises about deprecation.
//
// A state is a Surface: documents in a folder or a revision of git, a release, a CRD
// manifest, an OpenAPI document, or a running server (Open). Compare looks at meaning, not
// at spelling: types that moved, keys in another order, and defaults that are written out
// are the same. The promises are Rules.
//
// # Decisions
//
// The package is the gate of "make compat". In a Surface references are resolved, and presence,
// defaults and list types are the effective ones. Each type knows how it travels (requests,
// responses, stored objects) and the promises about it. A walk over two surfaces meets each pair of
// types once and finds broken Rules, whose levels depend on stability and direction.
//
// A change of spelling is silent, since values are compared by their meaning:
//
//   - Bounds are compared as intervals, patterns and named checks as regular languages
//     (language.go).
//   - Rules are conditions made of comparisons: one is silent if it follows from the rules before,
//     whatever their comparisons turn out to be, or holds for all objects of old clients (proof.go).
//   - Where a schema has keywords that combine others (anyOf, if, …), its demands may be among those
//     of the old one (looser.go). Else values of all sorts that both sides distinguish are tried on
//     both (implied.go). Two values are of one sort if all schemas that ask them answer alike.
//
// It is a package for other programs too, so it reports and never ends the process. It stays below
// generator/, whose loader only packages there may import. Its corpus (corpus_test.go) has one
// change and its verdict per row. "make gate-mutations" tries random edits of random schemas, and
// values on both sides prove which of them break (mutation_test.go).
//
// The folder openapi/released has the documents of the last release. Its release.yaml has versions
// and dates, by which the ends of versions are judged, and floors for the numbers of compared
// elements. The file openapi/promises.yaml has the things outside of resources on which clients and
// operators count: gates, metrics, flags.
package compat
