// Package apply keeps metadata.managedFields, the record of which manager owns
// which field, and merges applied configurations (server-side apply).
//
// It works on documents and schema tables and knows no kind. Three things are at
// its bottom: a Set of paths, which is what a fieldsV1 object says; compare,
// which finds the paths that differ in two objects; and merge with remove, which
// put a configuration over an object and take away what was left out of it.
//
// # How a server uses it
//
// For each kind a server makes one Kind, with the table that Merging gives for
// the group version. The name of the manager is ManagerName(fieldManager
// parameter, user agent) after CheckManager has accepted the parameter.
//
// Writes that are no apply — create, PUT, the other patches, status, scale —
// call Update with the object as it was decoded, defaults included, before the
// server resets what the endpoint does not change and before admission: fields
// that hooks or webhooks set belong to nobody. So managedFields must be taken
// neither from the request nor from the live object by the server itself. A new
// object has an absent live value. The endpoint's Write.Reset names what it
// does not write: MainReset for the object itself, StatusReset for its status.
// A scale is an update of the whole object with subresource "scale".
//
// Apply takes the configuration as it was sent (document.DecodeAny of its JSON),
// after the server has decoded the same text with the kind's type to find
// unknown fields and values of a wrong type. It returns the text of the merged
// object, which then is decoded with defaults and goes the way of every update
// or, where there was no object, of a create. There Update is not called again.
//
// When the object is complete, KeepTimes gives it back the old managedFields if
// nothing but a time in them has changed, so that a write without effect
// remains one.
//
// # What it costs
//
// An update compares two trees whose unchanged parts are told by their text.
// Entries that own nothing of what changed are never read: their text is copied.
//
// Creates and applies write the fields of their entry straight from one walk
// (fieldsWriter). An apply that says what its manager said before is told by that
// text and needs no sets. A merged object keeps the order of the live one, so that
// what did not change is equal as text.
package apply
