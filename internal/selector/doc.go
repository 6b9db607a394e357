// Package selector decides which objects a list or a watch returns. A Selector is made
// once per request from the texts of labelSelector and fieldSelector; it reads an object's
// key and the header stored with the object (AppendMeta). Only the fields that the
// definition of a custom resource declares are in the object (Suits).
//
// # Decisions
//
// The selectable fields of custom resources are read from the objects, in the version of the
// request (Suits, server/internal/verbs/search.go), not from their headers: a converter may decide
// on the values, and the fields may be declared after the object was written. A scan costs 1 µs an
// object more; watches of one version share a conversion.
package selector
