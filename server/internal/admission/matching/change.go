package matching

import (
	"bytes"
	"context"
	"fmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// Change gives the object of a write a new state, JSON in the version of a row of at most so
// many bytes, and reports whether that changed it.
func Change(ctx context.Context, r *admission.Request, in *api.Resource, text []byte, most int) (bool, error) {
	doc, err := decode(ctx, r, in, text, most)
	if err != nil {
		return false, err
	}
	defer doc.Release()
	before := r.Object.AppendJSON(nil)
	keepOwners(r, doc.Root())
	replace(r.Object, doc.Root())
	return !bytes.Equal(before, r.Object.AppendJSON(nil)), nil
}

// decode reads a changed object, with defaults and without unknown fields, and turns it
// into the version of the write's objects.
func decode(ctx context.Context, r *admission.Request, in *api.Resource, text []byte, most int) (*document.Document, error) {
	table, typ, defaults := in.GV.Types(), in.Type, in.GV.Defaults
	if sub := in.Subresource(r.Subresource); r.OtherKind && sub != nil && sub.Table != nil {
		table, typ, defaults = sub.Table, sub.Type, nil
	}
	decoder := document.Decoder{Table: table, Defaults: defaults, Limits: document.Limits{MaxBytes: most}}
	doc, _, err := decoder.Decode(typ, text)
	if err != nil {
		return nil, api.Internal(err.Error())
	}
	if err := keepKind(r, in, doc.Root()); err != nil {
		doc.Release()
		return nil, err
	}
	to := r.Resource
	if r.OtherKind || to.GV.APIVersion() == in.GV.APIVersion() {
		return doc, nil
	}
	defer doc.Release()
	turned, err := convert.Between(ctx, in, to, doc.Root())
	if err != nil {
		return nil, err
	}
	defer turned.Release()
	decoder = document.Decoder{Table: to.GV.Types(), Defaults: to.GV.Defaults, Limits: decoder.Limits}
	doc, _, err = decoder.Decode(to.Type, turned.Root().AppendJSON(nil))
	return doc, err
}

// keepKind refuses a changed object of another kind or version than it was shown in, and
// fills in those that it lacks.
func keepKind(r *admission.Request, in *api.Resource, obj document.Value) error {
	of, _ := namesOf(in, r.Subresource)
	from := api.GroupVersion{Group: of.Group, Version: of.Version}
	version := from.APIVersion()
	if !r.OtherKind {
		of.Kind, version = in.Kind, in.GV.APIVersion()
	}
	for _, m := range [...][2]string{{"apiVersion", version}, {"kind", of.Kind}} {
		switch v := obj.Get(m[0]); {
		case v.Text() == "":
			obj.SetString(m[0], m[1])
		case !v.Equals(m[1]):
			return api.Internal(fmt.Sprintf("the %s of the changed object is %q, which cannot replace %q", m[0], v.Text(), m[1]))
		}
	}
	return nil
}

// keepOwners gives a changed object the owners of its fields that it had, with a warning,
// instead of those that no server can have written.
func keepOwners(r *admission.Request, obj document.Value) {
	meta, before := obj.Get("metadata"), r.Object.At("metadata", "managedFields")
	list := meta.Get("managedFields")
	if document.Equal(list, before) {
		return
	}
	if err := apply.CheckOwners(list); err != nil {
		meta.Put("managedFields", before)
		r.By.Warn(".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating admission controller; please fix your requests: " + err.Error())
	}
}

// replace gives an object the members of another one of its type.
func replace(obj, now document.Value) {
	var gone []string
	for name := range obj.Members() {
		if !now.Get(name).Exists() {
			gone = append(gone, name)
		}
	}
	for _, name := range gone {
		obj.Remove(name)
	}
	for name, v := range now.Members() {
		obj.Put(name, v)
	}
}

// Rounds decide which webhooks or policies see a write twice: those that want to, if
// something was changed after them.
type Rounds[K comparable] struct {
	Changed     bool
	called, due map[K]bool // of those that want to see later changes
}

// Ran notes that one has seen the write.
func (r *Rounds[K]) Ran(of K, changed, again bool) {
	if changed {
		r.Changed = true
		r.require()
	}
	if again {
		if r.called == nil {
			r.called, r.due = map[K]bool{}, map[K]bool{}
		}
		r.called[of] = true
	}
}

// require makes all due that were called.
func (r *Rounds[K]) require() {
	for of := range r.called {
		r.due[of] = true
	}
	clear(r.called)
}

// Due reports whether one has to see the write again.
func (r *Rounds[K]) Due(of K) bool { return r.due[of] }

// Again is the second round, after the other plug-ins have seen the write again; nil if
// none wants to, or the first one failed.
func (r *Rounds[K]) Again(w *admission.Request, failed error, second func(context.Context) error) func(context.Context) error {
	if failed != nil || len(r.called)+len(r.due) == 0 {
		return nil
	}
	left := w.Object.AppendJSON(nil)
	return func(ctx context.Context) error {
		if !bytes.Equal(left, w.Object.AppendJSON(nil)) {
			r.require()
		}
		return second(ctx)
	}
}
