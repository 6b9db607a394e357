// Package custom accepts the names of custom resource definitions, serves the
// resources of established ones, and removes the objects and finalizers of deleted ones.
//
// # Decisions
//
// Custom resources are rows like all others. This package follows a live collection of the
// definitions: it accepts their names, and adds the rows of an accepted definition to the catalog
// when its condition is stored. Package definitions makes these rows. A client may read the
// condition a moment before the rows are there: a request that finds no row waits for the rows of
// those definitions that the store has announced (await.go).
//
// A delete adds the finalizer of 1.25 to the definition. This package deletes the objects, then
// removes the finalizer, then the rows.
//
// Objects up to the revision at which a schema changed are shown as they would be stored today
// (stored.CurrentStore). After a restart that is the revision of the definition, unless the store
// has a record of the change, which a definition gets with its first one (stored.CustomForm). The
// record is stored before the rows change, and is in the read set of writes: no object is stored in
// the earlier form afterwards.
package custom
