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
//   - Expressions are compared as trees, where a looser expression is known by its parts: a clause,
//     an alternative, a bound (implied_expression.go).
//   - Where a schema has keywords that combine others (anyOf, if, …), values of all sorts that both
//     sides distinguish are tried on both (implied.go).
//
// It is a package for other programs too, so it reports and never ends the process. It stays below
// generator/, whose loader only packages there may import. Its corpus (corpus_test.go) has one
// change and its verdict per row.
//
// The folder openapi/released has the documents of the last release. Its release.yaml has versions
// and dates, by which the ends of versions are judged, and floors for the numbers of compared
// elements. The file openapi/promises.yaml has the things outside of resources on which clients and
// operators count: gates, metrics, flags.
package compat
