package verbs

import (
	"context"
	"errors"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Get is GET on an object, or on its status.
func (v *Verbs) Get(r *request.Request) error {
	r.Span.Event("About to Get from storage")
	entry, err := v.Current(r)
	if err != nil {
		return err
	}
	return v.env.RespondEntry(r, http.StatusOK, entry)
}

// Current reads the target at a revision not older than the requested one.
func (v *Verbs) Current(r *request.Request) (store.Entry, error) {
	if r.Query.Flag("export") {
		return store.Entry{}, api.BadRequest("the export parameter, deprecated since v1.14, is no longer supported; remove what an export would leave out from the object itself")
	}
	rev, _, err := api.ParseRevision(r.Query.Get("resourceVersion"))
	if err != nil {
		return store.Entry{}, err
	}
	if err := v.waitForRevision(r, rev); err != nil {
		return store.Entry{}, err
	}
	get := func(key string) (store.Entry, error) { return v.part(r.Target.Row).Store.Get(readContext(r), key) }
	if !r.Target.Row.Stored {
		parts, err := v.components(r.Target.Row)
		if err != nil {
			return store.Entry{}, err
		}
		get = parts.Get
	}
	entry, err := get(r.Key())
	if errors.Is(err, store.ErrNotFound) {
		return entry, v.notFound(r.Target)
	}
	return entry, err
}

// readContext is the context of a read. One that names a revision, which the server has by then, may
// be answered from any state that the server has.
func readContext(r *request.Request) context.Context {
	if r.Query.Get("resourceVersion") == "" {
		return r.Context
	}
	return store.Stale(r.Context)
}

// notFound is the 404 of a read, which may name another resource for a subresource.
func (v *Verbs) notFound(t request.Target) error {
	if t.Sub != nil && t.Sub.MissingAs != (api.GroupResource{}) {
		return api.NotFound(t.Sub.MissingAs, t.Name)
	}
	return api.NotFound(t.Row.GroupResource(), t.Name)
}

// waitForRevision waits until a revision exists, with 504 after a while.
func (v *Verbs) waitForRevision(r *request.Request, rev uint64) error {
	kept := v.part(r.Target.Row).Store
	if rev == 0 || rev <= kept.Current() {
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context, v.cfg.Future)
	defer cancel()
	if err := kept.WaitFor(ctx, rev); err != nil {
		if r.Context.Err() != nil {
			return r.Context.Err()
		}
		return api.TooLargeResourceVersion(rev, kept.Current(), 1)
	}
	return nil
}
