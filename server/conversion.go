package server

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// A kind that is served in several versions is stored in one of them. A write in
// another is decoded, and recorded in managedFields, in its own version; from
// there on the object is what is stored, and answers are converted back. For
// kinds of one version nothing of this runs.

// stored is the target in the version that its objects are stored in.
func (t target) stored() target {
	if t.resource.Conversion != nil {
		t.resource = t.resource.Storage()
		if t.sub != nil {
			t.sub = t.resource.Subresource(t.sub.Name)
		}
	}
	return t
}

// servedBody is a stored object in the version of a row.
func servedBody(res *api.Resource, body []byte) ([]byte, error) {
	if res.Conversion == nil {
		return body, nil
	}
	return convert.AppendServed(nil, res, body)
}

// servedWrite makes a write in a version that is not the stored one. It must be
// released when the write is made.
type servedWrite struct {
	s    *Server
	t    target // as it was asked for
	opts *writeOptions
	old  document.Value // what is replaced, as it is stored; absent on create
	docs []*document.Document
}

func (w *servedWrite) release() {
	for _, doc := range w.docs {
		doc.Release()
	}
}

// next is a step of transact: it shows the current object to make in the version
// of the request, and gives what that returns in the stored one.
func (w *servedWrite) next(current *store.Entry, old document.Value, make nextFunc) (document.Value, error) {
	if current == nil {
		obj, missing := make(nil, old)
		if missing != nil && !(w.t.resource.CheckedWhenMissing && obj.Exists()) {
			return obj, missing
		}
		obj, err := w.store(obj, old)
		if missing != nil {
			err = missing
		}
		return obj, err
	}
	doc, err := convert.FromStorage(w.t.resource.Resource, old)
	if err != nil {
		return old, err
	}
	w.docs = append(w.docs, doc)
	w.old = old
	served := *current
	served.Body = doc.Root().AppendJSON(nil)
	obj, err := make(&served, doc.Root())
	if err != nil {
		return obj, err
	}
	if err := checkPreconditions(w.t.resource, w.t.name, obj.Get("metadata"), doc.Root().Get("metadata"), w.opts.patched); err != nil {
		return obj, err
	}
	return w.store(obj, doc.Root())
}

// store records who owns what of an object, which is to replace old, and gives it
// in the version that is stored. Rules that hold in the version of the request
// only are applied here.
func (w *servedWrite) store(obj, old document.Value) (document.Value, error) {
	res := w.t.resource
	hooked := res.Conversion.FromStorage.Hook != nil
	if !hooked {
		if err := w.s.own(w.t, old, obj, *w.opts); err != nil {
			return obj, err
		}
	}
	w.opts.causes = validateRules(res, obj, old, old)
	doc, err := stored.Convert(res, obj, w.old)
	if err != nil {
		return obj, err
	}
	w.docs = append(w.docs, doc)
	if hooked && !w.opts.applied {
		err = w.ownShown(doc.Root(), old)
	}
	w.opts.applied = true // nobody else shall record it
	return doc.Root(), err
}

// ownShown records in stored who owns what of it, as it is shown in the version of
// the request: where hooks convert, a field may become an annotation there.
func (w *servedWrite) ownShown(stored, old document.Value) error {
	shown, err := convert.FromStorage(w.t.resource.Resource, stored)
	if err != nil {
		return err
	}
	defer shown.Release()
	if err := w.s.own(w.t, old, shown.Root(), *w.opts); err != nil {
		return err
	}
	stored.SetObject("metadata").Put("managedFields", shown.Root().At("metadata", "managedFields"))
	return nil
}

// createServed stores a new object that is in the version of the target.
func (s *Server) createServed(ctx context.Context, t target, obj document.Value, opts writeOptions) (store.Entry, error) {
	if t.resource.Conversion == nil {
		return s.createObject(ctx, t.resource, t.namespace, obj, opts)
	}
	if err := matchNamespace(t.resource, obj.SetObject("metadata"), t.namespace); err != nil {
		return store.Entry{}, err
	}
	opts.dropRepeatedOwners(obj.Get("metadata"))
	dropSystemFields(obj.Get("metadata"))
	w := &servedWrite{s: s, t: t, opts: &opts}
	defer w.release()
	obj, err := w.store(obj, document.Value{})
	if err != nil {
		return store.Entry{}, err
	}
	entry, err := s.createObject(ctx, t.resource.Storage(), t.namespace, obj, opts)
	var taken *api.Error
	if errors.As(err, &taken) && taken.Reason == api.ReasonAlreadyExists {
		return entry, api.AlreadyExists(t.resource.GroupResource(), taken.Name)
	}
	return entry, err
}
