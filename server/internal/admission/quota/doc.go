// Package quota holds the bounds of namespaces: limit ranges, for each of its objects, and
// resource quotas, for all of them together.
//
// The used amounts are in the status of a quota, and nowhere else. What a write adds, its
// charge, is stored in one transaction with the object, under the locks of both: so there
// is never an object without its charge, or a charge without its object, and a write that
// is abandoned has charged nothing. What ends is not given back by its own write but by
// the controller, as in 1.25, which counts the objects (Used).
//
// # Decisions
//
// A write and its charge to resource quotas are one transaction (store.UpdateAll,
// server/internal/objects/charge.go): it stores the used amounts in the status of the quotas, and
// the object, under the locks of all their keys. The charge is computed with the evaluation of the
// write and added to the status as it is at the commit. So neither other writes nor a crash lose a
// charge or count it twice, and an abandoned write has charged nothing. In 1.25 the status is
// written before the object, and stays when the write of the object fails.
//
// The controller gives back (server/internal/background/resourcequota.go). It counts the objects
// in one view of the store, and adds the difference from the status in that view to the present
// status, since creates are charged meanwhile. A resource name that the status does not bound yet
// is counted, and stored while nothing was created since. Where objects are created all the time
// the bound is stored first, and creates are refused until the amount is known. These writes of a
// status are not reviewed by webhooks, which see the write that caused them.
package quota
