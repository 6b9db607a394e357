// Package apply keeps metadata.managedFields, the record of which manager owns
// which field, and merges applied configurations (server-side apply).
//
// It works on documents and schema tables and knows no kind. It is based on three things:
// a Set of paths, the content of a fieldsV1 object; compare, which finds the paths that
// differ in two objects; and merge with remove, which merge a configuration over an
// object and remove the fields that it left out.
//
// # How a server uses it
//
// For each kind a server makes one Kind, with the table that Merging gives for
// the group version. The name of the manager is ManagerName(fieldManager
// parameter, user agent) after CheckManager has accepted the parameter.
//
// Writes other than an apply — create, PUT, the other patches, status — call
// Update with the object as it was decoded, defaults included, before the server resets
// the fields that the endpoint does not change and before admission: fields that hooks or
// webhooks set have no owner. So the server itself must take managedFields neither from
// the request nor from the live object. A new object has an absent live value. The
// endpoint's Write.Reset names the fields that it does not write: MainReset for the
// object itself, StatusReset for its status. A Scale is an object with owners of its own:
// Replicas shows it those of its object's replicas, and takes them back.
//
// Apply takes the configuration as it was sent (document.DecodeAny of its JSON), after
// the server has decoded the same text with the kind's type to find unknown fields and
// values of a wrong type. It returns the text of the merged object, which then is decoded
// with defaults and continues like every update or, where there was no object, like a
// create. There Update is not called again.
//
// When the object is complete, KeepTimes restores the old managedFields if only a time in
// them has changed, so that a write without effect remains one.
//
// # What it costs
//
// An update compares two trees whose unchanged parts have the same text. Entries that own
// no changed field are never read: their text is copied.
//
// Creates and applies write the fields of their entry directly from one walk
// (fieldsWriter). An apply that repeats the manager's last one has the same text and
// needs no sets. A merged object keeps the order of the live one, so that unchanged parts
// have equal text.
package apply
