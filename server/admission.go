package server

import (
	"context"
	"errors"
	"time"

	"github.com/capstan-dev/capstan/internal/admission"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// admit lets the admission plug-ins see an object that is about to be stored;
// old is absent on create.
func (s *Server) admit(ctx context.Context, t target, obj, old document.Value) error {
	r := admission.Request{Operation: admission.Create, Resource: t.resource, Namespace: t.namespace, Object: obj, Old: old}
	if old.Exists() {
		r.Operation = admission.Update
	}
	if t.sub != nil {
		r.Subresource = t.sub.Name
	}
	return s.admission.Admit(ctx, &r)
}

// objects is what the admission plug-ins see of the store.
type objects struct{ s *Server }

var _ admission.Objects = objects{}

// Get implements admission.Objects.
func (o objects) Get(ctx context.Context, group, plural, namespace, name string) (document.Value, func(), error) {
	none := func() {}
	res := findResource(o.s.groups, group, plural)
	if res == nil {
		return document.Value{}, none, api.NotFound(api.GroupResource{Group: group, Resource: plural}, name)
	}
	entry, err := o.s.store.Get(ctx, keyOf(res, namespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return document.Value{}, none, api.NotFound(res.GroupResource(), name)
	}
	if err != nil {
		return document.Value{}, none, err
	}
	doc, err := document.ReadStored(res.GV.Table, res.Type, entry.Body)
	if err != nil {
		return document.Value{}, none, err
	}
	return doc.Root(), doc.Release, nil
}

// soon is how long GetSoon waits for what a controller is about to create.
const soon = time.Second

// GetSoon implements admission.Objects.
func (o objects) GetSoon(ctx context.Context, group, plural, namespace, name string) (document.Value, func(), error) {
	wait, cancel := context.WithTimeout(ctx, soon)
	defer cancel()
	for {
		at := o.s.store.Current()
		obj, release, err := o.Get(ctx, group, plural, namespace, name)
		var known *api.Error
		if !errors.As(err, &known) || known.Reason != api.ReasonNotFound {
			return obj, release, err
		}
		if o.s.store.WaitFor(wait, at+1) != nil {
			return obj, release, err
		}
	}
}

// Each implements admission.Objects.
func (o objects) Each(ctx context.Context, group, plural string, visit func(document.Value) bool) error {
	res := findResource(o.s.groups, group, plural)
	if res == nil {
		return nil
	}
	reader, err := o.s.store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer reader.Close()
	var failed error
	err = reader.Scan(ctx, prefixOf(res, ""), "", func(e *store.Entry) bool {
		doc, err := document.ReadStored(res.GV.Table, res.Type, e.Body)
		if failed = err; failed != nil {
			return false
		}
		defer doc.Release()
		return visit(doc.Root())
	})
	return errors.Join(err, failed)
}
