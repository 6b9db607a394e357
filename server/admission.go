package server

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// admit lets the admission plug-ins see an object that is about to be stored;
// old is absent on create.
func (s *Server) admit(ctx context.Context, t target, obj, old document.Value) error {
	r := admissionRequest(t, nil, obj, old)
	return s.admission.Admit(ctx, &r)
}

// checkAdmission lets those see it that only look, once it is valid.
func (s *Server) checkAdmission(ctx context.Context, t target, user *authn.User, obj, old document.Value) error {
	r := admissionRequest(t, user, obj, old)
	return s.admission.Check(ctx, &r)
}

func admissionRequest(t target, user *authn.User, obj, old document.Value) admission.Request {
	r := admission.Request{Operation: admission.Create, Resource: t.resource.Resource, Namespace: t.namespace, User: user, Object: obj, Old: old}
	if old.Exists() {
		r.Operation = admission.Update
	}
	if t.sub != nil {
		r.Subresource = t.sub.Name
	}
	return r
}

// objects is what the admission plug-ins see of the store.
type objects struct{ s *Server }

// classCache is a small collection that plug-ins go through for every pod: its objects
// stay in memory until one of them changes.
//
// Invariant: what each sees is not older than what was acknowledged when it was
// called, because a change is announced before it is acknowledged.
type classCache struct {
	row    *catalog.Row
	cancel func()

	mu     sync.Mutex
	known  bool     // bodies is the collection
	epoch  int      // counts changes
	bodies [][]byte // never changed
}

func newClassCache(s store.Store, row *catalog.Row) *classCache {
	k, prefix := &classCache{row: row}, row.Prefix("")
	_, k.cancel = s.Subscribe(func(changes []*store.Change) {
		for _, c := range changes {
			if strings.HasPrefix(c.Entry.Key, prefix) {
				k.mu.Lock()
				k.known, k.epoch = false, k.epoch+1
				k.mu.Unlock()
				return
			}
		}
	})
	return k
}

// all returns the bodies of the collection's objects.
func (k *classCache) all(ctx context.Context, s store.Store) ([][]byte, error) {
	k.mu.Lock()
	bodies, known, epoch := k.bodies, k.known, k.epoch
	k.mu.Unlock()
	if known {
		return bodies, nil
	}
	reader, err := s.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	bodies = nil
	err = reader.Scan(ctx, k.row.Prefix(""), "", func(e *store.Entry) bool {
		bodies = append(bodies, bytes.Clone(e.Body))
		return true
	})
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil && epoch == k.epoch {
		k.bodies, k.known = bodies, true
	}
	return bodies, err
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
	doc, err := document.ReadStored(res.GV.Table, res.Type, entry.Body)
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

// EachClass implements admission.Objects.
func (o objects) EachClass(ctx context.Context, visit func(document.Value) bool) error {
	res := o.s.classes.row
	bodies, err := o.s.classes.all(ctx, o.s.store)
	if err != nil {
		return err
	}
	for _, body := range bodies {
		doc, err := document.ReadStored(res.GV.Table, res.Type, body)
		if err != nil {
			return err
		}
		more := visit(doc.Root())
		doc.Release()
		if !more {
			return nil
		}
	}
	return nil
}

// MaySign implements admission.Objects.
func (o objects) MaySign(ctx context.Context, user *authn.User, verb, signer string) (bool, error) {
	decision, _, err := o.s.authz.Authorize(ctx, &authz.Attributes{User: user, Verb: verb, Group: certificateGroup,
		Version: "*", Resource: "signers", Name: signer, ResourceRequest: true})
	return decision == authz.Allow, err
}
