// Package conversion turns objects of one version of a kind into another: custom objects by
// the webhook of their definition, built-in ones by methods, as far as copying fields of one
// name does not do. The interfaces generated from the documents require these methods: a
// pair of versions whose types differ needs both directions.
//
// A method is called after the common fields are copied. from must not be changed. Values
// without a field in a version are kept in annotations where 1.25 does so, so that an
// object converted back is the same.
//
// # Decisions
//
// A conversion webhook is asked late, and for many objects at once. Where one converts a kind
// (api.Converter, which this package fills), a stored object stays in its version until it is
// written, whatever the storage version is by then. So the store, the controllers and deletes never
// wait for a webhook. Reads in another version, writes and watch events ask the webhook without a
// lock, for 500 objects or 2 MiB a call. Watchers of one version share its answer. A watch follows
// changes of the definition, and ends with its version, after all events up to then
// (watch.Hub.End).
package conversion
