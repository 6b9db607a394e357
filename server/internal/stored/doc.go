// Package stored holds the stored form of objects: sealed, in their kind's storage
// version, complete when they are read back; objects that were stored under other
// documents are shown as they would be stored today.
//
// # Decisions
//
// Objects are stored as they are sent to clients. The stored JSON carries its resourceVersion,
// which the store splices in at the commit. So a read is a copy, and a comparison of bytes finds a
// write that changes nothing.
//
// Defaults are filled in by writes, and for old objects by reads. The generator gives each kind a
// fingerprint of how its objects are stored (schema.Table.Form: members, order, types, presence,
// defaults, hooks). The store notes the fingerprint per kind, with the revision from which on it
// holds (versions.go). So the revision of an object shows whether the object is old. Old objects
// are shown everywhere as they would be stored today, at the revision that they have (current.go).
// CurrentStore does that: it is a layer that only a store with such objects has. An object to which
// later defaults add more than 3 MiB is shown without any of them. A store that was written under
// the present documents pays nothing. A write in a version that lacks defaults of the storage
// version fills them in too.
package stored
