package objects

import (
	"cmp"

	"github.com/capstan-dev/capstan/internal/api"
)

// A kind that is served in several versions is stored in one of them. A write in
// another is decoded, and recorded in managedFields, in its own version; from
// there on the object is what is stored, and answers are converted back. For
// kinds of one version nothing of this runs.

// Stored is the target in the version that its objects are stored in.
func (t Ref) Stored() Ref {
	if t.Row.Conversion != nil {
		t.written, t.Row = t.Row, t.Row.Storage()
		if t.Sub != nil {
			t.Sub = t.Row.Subresource(t.Sub.Name)
		}
	}
	return t
}

// checks is what an update of the target checks, in its order.
func (t *Ref) checks() []api.Check {
	switch {
	case t.Sub != nil && t.Sub.Checks != nil:
		return t.Sub.Checks
	case t.writesStatus():
		return api.UsualStatusChecks
	case t.written != nil && t.written.Checks != nil:
		return t.written.Checks
	case t.Row.Checks != nil:
		return t.Row.Checks
	}
	return api.UsualChecks
}

// anyFinalizer reports whether finalizers without a domain need not be known.
func (t *Ref) anyFinalizer() bool { return cmp.Or(t.written, t.Row).AnyFinalizer }
