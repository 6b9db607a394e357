// Package objects has the one way to write: every change of an object, by a request or
// the server, is a Write, which Objects evaluates and commits.
//
// # Decisions
//
// A write that only fills in defaults is a write, as in 1.25: the store gets other bytes than it
// has. So a PUT of an object as it was read migrates an old object, and the next such PUT is not a
// write. A filled-in field has no owner until a manager sets it.
//
// A create has its namespace in the read set, so the controller that empties a terminating
// namespace sees all objects that will ever be in it. A create of a custom object has the
// definition in the read set, and each write of a custom object the record about the form of the
// kind's objects (seen.go; package store says why a read set and not a lock).
//
// Rules may be younger than objects. An update is not refused for earlier mistakes that it does not
// touch. For the rules of the documents, document.ValidateTouched defines the untouched values. For
// the rules in server/internal/kinds/policy, a mistake is earlier that the object had in the same words
// before, at the same value (stillWrong in validate.go). This is checked only after a rule was
// broken. 1.25 does it for single fields; under one set of documents all stored objects are valid,
// and nothing differs.
//
// Causes come in the order of 1.25, and as often as it reports them. They are found in the order of
// the schema and of the rules in server/internal/kinds/policy. If there are any, they are arranged by the
// checks of an update (checksOnUpdate, validate.go) and sorted by the order that the types declare
// (x-cluster-cause-order, document.OrderCauses).
package objects
