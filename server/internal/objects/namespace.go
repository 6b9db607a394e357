package objects

import (
	"context"
	"errors"
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// IsNamespace reports whether a resource is that of namespaces, which contain others and
// are therefore deleted in steps: a delete makes one terminating, and the finalize
// subresource reports that its content is gone.
func IsNamespace(res *catalog.Row) bool { return res.Role == api.RoleNamespaces }

// OpenNamespace checks that the namespace of a new object exists and accepts it. Errors:
// 404, missingNamespace, 403.
func (e *Evaluation) OpenNamespace(name string) error {
	err := e.s.NamespaceAccepts(e.ctx, e.Row, e.Namespace, name)
	if e.s.cfg.ProvidesNamespaces && !e.Opts.DryRun && api.IsReason(err, api.ReasonNotFound) {
		return &missingNamespace{err, name}
	}
	return err
}

// missingNamespace ends an attempt whose namespace the server makes before the next one.
type missingNamespace struct {
	error
	object string // its name in a refusal
}

// provideTries bounds the attempts of a write whose namespace is missing again and again.
const provideTries = 5

// writeProviding makes one change, and before it the namespace, if the change needs one
// that is missing and that the server provides.
func (o *Objects) writeProviding(ctx context.Context, w *Write) (Result, error) {
	for try := 1; ; try++ {
		out, err := o.write(ctx, w)
		var missing *missingNamespace
		if !errors.As(err, &missing) {
			return out, err
		}
		if try == provideTries {
			return out, missing.error
		}
		if err := o.provide(ctx, w.Namespace); err != nil {
			return out, api.Forbidden(w.Row.GroupResource(), missing.object, err.Error())
		}
	}
}

// provide makes a namespace, unless it exists.
func (o *Objects) provide(ctx context.Context, namespace string) error {
	row := o.catalog.Snapshot().Core("namespaces")
	_, err := o.Write(ctx, &Write{Ref: Ref{Row: row}, Creates: true, Change: NewObject(nil, func() (*document.Document, error) {
		return o.DecodeOwn(row, []byte(`{"metadata":{"name":`+strconv.Quote(namespace)+`}}`))
	})})
	if api.IsReason(err, api.ReasonAlreadyExists) {
		return nil
	}
	return err
}
