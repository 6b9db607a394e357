// Package convert turns objects of one version of a kind into another. Objects are stored
// in the storage version; a row of the catalog that serves another version has an
// api.Conversion, whose plan this package follows.
//
// Where two versions differ only in their name, the text of an object is used as it is,
// without a tree. Remote converters (api.Converter) get as few calls as possible.
//
// # Decisions
//
// Fields that a version lacks are kept in an annotation of the object (carry.go), not next to the
// object in the store. So a client that reads, edits and writes in one version keeps these fields,
// backups and migrations need nothing for them, and a value of theirs from a client is checked like
// any other. A list whose elements lack a field in one version cannot be carried; that needs a
// hook.
//
// A kind in several versions is stored in one (storedAs in the documents of the others), so all
// versions share keys, uids and revisions. A write is decoded, defaulted and recorded in
// managedFields in the version of the request, then converted. From there on all steps see the
// storage version, and the paths in field errors are those of that version; custom objects are
// converted last, since each of their versions has rules of its own. Answers, lists and watch
// events are converted back, an event once per version. Kinds with one version skip all of this.
package convert
