// Package definitions holds the rules for custom resource definitions, and the approval
// and storage versions of accepted ones.
//
// # Decisions
//
// The structural schema of a definition compiles into the same tables as the documents, when the
// first request asks for it. Until then, and again after half an hour without use, only the packed
// text is kept. The types of such a table have Values, the demands of the schema: values are read
// leniently, since 1.25 refuses a wrong type as a broken rule (422) and not as an unreadable body,
// and they are always checked as a whole.
//
// Extensions in a definition may have the prefix of the documents (x-cluster-list-type) or that of
// the profile. Decoding turns the former into the latter (internal/document/spelled.go), so no
// other code knows of it.
//
// Rules of custom resources are expressions (internal/expression). They are compiled with the
// definition to judge them, and again when the first write of a version needs them; kinds without
// rules have none. They are evaluated after validation (server/internal/objects/customrules.go), in
// the version of the write. A rule whose worst cost is within the limits needs no count at run
// time. Counted are other rules, those with old values, and all rules of an object that breaks its
// schema in forgiven ways (rulecheck.go). Mistakes in values that an update does not touch are
// forgiven as in Kubernetes 1.33, unlike 1.25: mistakes against the schema silently, those against
// rules with a warning.
package definitions
