package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// admitter is what writes ask: all admission plug-ins that are on (admission.Chain).
type admitter interface {
	Admit(ctx context.Context, r *admission.Request) error
	Check(ctx context.Context, r *admission.Request) error
	Waits(o admission.Operation, resource *api.Resource, subresource string) bool
}

// admission is what the admission plug-ins see of the write.
func (e *evaluation) admission() admission.Request {
	r := admission.Request{Operation: admission.Create, Resource: e.stored.resource.Resource, Namespace: e.namespace, User: e.opts.user, Object: e.obj, Old: e.old}
	if e.sub != nil {
		r.Subresource = e.sub.Name
	}
	if e.via != nil {
		r.Subresource, r.Object, r.Old = e.via.subresource, e.via.obj, e.via.old
	}
	switch {
	case e.via == nil && e.deletes != nil:
		r.Operation, r.Object = admission.Delete, document.Value{}
	case r.Old.Exists():
		r.Operation = admission.Update
	}
	return r
}

// objects is what the admission plug-ins see of the store.
type objects struct{ s *Server }

// classes are the priority classes, which every pod asks for.
type classes struct {
	*live.Collection[*admission.Class]
	row      *catalog.Row
	standard live.Index[*admission.Class, []*admission.Class] // those for pods that name none, by value and name
}

func openClasses(ctx context.Context, s store.Store, row *catalog.Row, log *slog.Logger) (*classes, error) {
	all, err := live.Open(ctx, live.Config[*admission.Class]{Store: s, Prefixes: []string{row.Prefix("")}, Decode: live.Read(row, admission.ReadClass), Logger: log})
	if err != nil {
		return nil, err
	}
	return &classes{all, row, live.Derive(all, standardClasses)}, nil
}

func standardClasses(before []*admission.Class, changes []live.Change[*admission.Class]) []*admission.Class {
	now := slices.Clone(before)
	for _, c := range changes {
		now = slices.DeleteFunc(now, func(class *admission.Class) bool { return class == c.Before })
		if c.After != nil && c.After.Default {
			now = append(now, c.After)
		}
	}
	slices.SortFunc(now, func(a, b *admission.Class) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	return now
}

var _ admission.Objects = objects{}

// Get implements admission.Objects.
func (o objects) Get(ctx context.Context, group, plural, namespace, name string) (document.Value, func(), error) {
	none := func() {}
	res := o.s.catalog.Snapshot().Stored(group, plural)
	if res == nil {
		return document.Value{}, none, api.NotFound(api.GroupResource{Group: group, Resource: plural}, name)
	}
	entry, err := o.s.store.Get(ctx, res.Key(namespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return document.Value{}, none, api.NotFound(res.GroupResource(), name)
	}
	if err != nil {
		return document.Value{}, none, err
	}
	doc, err := document.ReadStored(res.GV.Types(), res.Type, entry.Body)
	if err != nil {
		return document.Value{}, none, err
	}
	return doc.Root(), doc.Release, nil
}

// GetSoon implements admission.Objects.
func (o objects) GetSoon(ctx context.Context, group, plural, namespace, name string) (document.Value, func(), error) {
	wait, cancel := context.WithTimeout(ctx, o.s.cfg.durations.Soon)
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

// Class implements admission.Objects.
func (o objects) Class(name string) *admission.Class {
	k := o.s.classes
	view := k.View()
	if name != "" {
		return view.Get(k.row.Key("", name))
	}
	if standard := k.standard.Of(view); len(standard) > 0 {
		return standard[0]
	}
	return nil
}

// MaySign implements admission.Objects.
func (o objects) MaySign(ctx context.Context, user *authn.User, verb, signer string) (bool, error) {
	decision, _, err := o.s.authz.Authorize(ctx, &authz.Attributes{User: user, Verb: verb, Group: certificateGroup,
		Version: "*", Resource: "signers", Name: signer, ResourceRequest: true})
	return decision == authz.Allow, err
}
