package server

import (
	"cmp"

	"github.com/capstan-dev/capstan/internal/api"
)

// A kind that is served in several versions is stored in one of them. A write in
// another is decoded, and recorded in managedFields, in its own version; from
// there on the object is what is stored, and answers are converted back. For
// kinds of one version nothing of this runs.

// stored is the target in the version that its objects are stored in.
func (t ref) stored() ref {
	if t.resource.Conversion != nil {
		t.written, t.resource = t.resource, t.resource.Storage()
		if t.sub != nil {
			t.sub = t.resource.Subresource(t.sub.Name)
		}
	}
	return t
}

// checks is what an update of the target checks, in its order.
func (t *ref) checks() []api.Check {
	switch {
	case t.sub != nil && t.sub.Checks != nil:
		return t.sub.Checks
	case t.writesStatus():
		return api.UsualStatusChecks
	case t.written != nil && t.written.Checks != nil:
		return t.written.Checks
	case t.resource.Checks != nil:
		return t.resource.Checks
	}
	return api.UsualChecks
}

// anyFinalizer reports whether finalizers without a domain need not be known.
func (t *ref) anyFinalizer() bool { return cmp.Or(t.written, t.resource).AnyFinalizer }
