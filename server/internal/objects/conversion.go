package objects

import (
	"cmp"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// A kind that is served in several versions is stored in one of them. A write in another
// is decoded, and recorded in managedFields, in its own version; from there on the object
// is in the storage version, and answers are converted back. For kinds of one version
// this is skipped. Where a remote service converts, a stored object stays in its version
// until it is written, whatever the storage version is by then.

// rowOf is the row of the version in which an object is stored: row, that of the storage
// version, unless conversions of the kind may wait.
func rowOf(row *catalog.Row, body []byte) (*catalog.Row, error) {
	if !row.Versions.ConvertsRemotely() || convert.HasHead(row.Resource, body) {
		return row, nil
	}
	version := stored.VersionOf(body)
	of := row.Versions.Version(version)
	if of == nil {
		return nil, &api.Error{Code: http.StatusInternalServerError, Message: "request to convert CR from an invalid group/version: " + version}
	}
	return of, nil
}

// Stored is the target in the storage version.
func (t Ref) Stored() Ref {
	if t.Row.Conversion != nil {
		t.written, t.Row = t.Row, t.Row.Storage()
		if t.Sub != nil && !t.writesWhole() {
			t.Sub = t.Row.Subresource(t.Sub.Name)
		}
	}
	return t
}

// checks are the checks of an update of the target, in their order.
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

// anyFinalizer reports whether unknown finalizers without a domain are accepted.
func (t *Ref) anyFinalizer() bool { return cmp.Or(t.written, t.Row).AnyFinalizer }
