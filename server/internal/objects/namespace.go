package objects

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// IsNamespace reports whether a resource is that of namespaces, which contain others and
// are therefore deleted in steps: a delete makes one terminating, and the finalize
// subresource reports that its content is gone.
func IsNamespace(res *catalog.Row) bool { return res.Role == api.RoleNamespaces }

// OpenNamespace checks that the namespace of a new object exists and accepts it. A missing
// one is created, where the server does that.
func (e *Evaluation) OpenNamespace(name string) error {
	o := e.s
	err := o.NamespaceAccepts(e.ctx, e.Row, e.Namespace, name)
	if !o.cfg.ProvidesNamespaces || e.Opts.DryRun || !api.IsReason(err, api.ReasonNotFound) {
		return err
	}
	row := o.catalog.Snapshot().Core("namespaces")
	_, err = o.Write(e.ctx, &Write{Ref: Ref{Row: row}, Creates: true, Change: NewObject(nil, func() (*document.Document, error) {
		return o.DecodeOwn(row, []byte(`{"metadata":{"name":`+strconv.Quote(e.Namespace)+`}}`))
	})})
	if err != nil && !api.IsReason(err, api.ReasonAlreadyExists) {
		return api.Forbidden(e.Row.GroupResource(), name, err.Error())
	}
	return o.NamespaceAccepts(e.ctx, e.Row, e.Namespace, name)
}
