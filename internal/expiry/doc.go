// Package expiry removes objects some time after their last write, as 1.25 does with
// events.
//
// # Decisions
//
// Events expire without a time of their own in the store. Package expiry notes the newest revision
// at each time, and removes the objects that were not written since. An idle store costs nothing,
// nor does a write, and a start gives all events their whole lifetime again, as a new leader of
// etcd does. A removal is a write with one step (server/internal/objects/expire.go): as at the end
// of a lease, neither finalizers nor plug-ins are asked.
package expiry
