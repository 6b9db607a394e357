package controller

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// elsewherePause is the pause after which owners are looked up again that other servers
// keep: their changes are not observed.
const elsewherePause = 30 * time.Second

// process brings one object to its due state. ask allows to ask other servers.
func (gc *collector) process(ctx context.Context, key string, ask bool) error {
	e, err := gc.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	t := gc.typeOf(key)
	if t == nil {
		return nil
	}
	o := subject{typ: t, key: key, revision: e.Revision, metadata: readMetadata(e.Body)}
	o.namespace, o.name = t.split(key)
	switch {
	case o.orphans():
		return gc.orphan(ctx, &o)
	case o.waits():
		return gc.foreground(ctx, &o)
	case o.deleting:
		return nil
	}
	if gc.hasDistantOwner(&o.metadata) {
		if !ask {
			gc.distant.add(key)
			return nil
		}
		defer gc.distant.addAfter(key, elsewherePause)
	}
	return gc.judge(ctx, &o)
}

// hasDistantOwner reports whether another server keeps an owner of an object.
func (gc *collector) hasDistantOwner(m *metadata) bool {
	return slices.ContainsFunc(m.owners, func(r ownerReference) bool { return gc.ofKind(r.kind) == nil && gc.Elsewhere.Keeps(r.kind.APIVersion) })
}

// subject is the processed object.
type subject struct {
	metadata
	typ             *Type
	key             string
	namespace, name string
	revision        uint64
}

// edit changes an object, unless it is gone or replaced by now.
func (gc *collector) edit(ctx context.Context, t *Type, namespace, name, uid string, edit func(meta document.Value)) error {
	return ignoreNotFound(gc.Cluster.Edit(ctx, t.Resource, namespace, name, "", func(obj document.Value) {
		if meta := obj.Get("metadata"); meta.Get("uid").Equals(uid) {
			edit(meta)
		}
	}))
}

// orphan removes an object from the references of its dependents, and its own finalizer
// then.
func (gc *collector) orphan(ctx context.Context, o *subject) error {
	keys, ok := gc.graph.dependentsOf(parseUID([]byte(o.uid)), o.revision)
	if !ok {
		return nil // a change that brought the object to this state will be observed
	}
	errs := forEach(ctx, parallel, keys, func(ctx context.Context, key string) error {
		t := gc.typeOf(key)
		namespace, name := t.split(key)
		return ignoreNotFound(gc.Cluster.Edit(ctx, t.Resource, namespace, name, "", func(obj document.Value) {
			removeOwners(obj.Get("metadata"), func(owner document.Value) bool { return owner.Get("uid").Equals(o.uid) })
		}))
	})
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return gc.removeFinalizer(ctx, o, finalizerOrphan)
}

// foreground removes the finalizer of an object that no dependent blocks any more. The
// dependents are processed on their own.
func (gc *collector) foreground(ctx context.Context, o *subject) error {
	blocked, ok := gc.graph.blocked(parseUID([]byte(o.uid)), o.revision)
	if blocked || !ok {
		return nil // a later change ends the wait
	}
	return gc.removeFinalizer(ctx, o, finalizerForeground)
}

func (gc *collector) removeFinalizer(ctx context.Context, o *subject, finalizer string) error {
	return gc.edit(ctx, o.typ, o.namespace, o.name, o.uid, func(meta document.Value) {
		removeString(meta, "finalizers", finalizer)
	})
}

// verdict is the owners of an object by their state.
type verdict struct {
	solid    int                 // they exist
	dangling map[string]struct{} // uids of those that are absent
	waiting  map[string]struct{} // uids of those that wait for their dependents
}

// judge decides whether an object that is not being deleted may stay.
func (gc *collector) judge(ctx context.Context, o *subject) error {
	v, err := gc.classify(ctx, o)
	if err != nil {
		return err
	}
	switch {
	case len(v.dangling) == 0 && len(v.waiting) == 0:
		return nil
	case v.solid > 0:
		return gc.edit(ctx, o.typ, o.namespace, o.name, o.uid, func(meta document.Value) {
			removeOwners(meta, func(owner document.Value) bool {
				_, dangling := v.dangling[owner.Get("uid").Text()]
				_, waiting := v.waiting[owner.Get("uid").Text()]
				return dangling || waiting
			})
		})
	}
	propagation := "Background"
	if o.metadata.foreground {
		propagation = finalizerPolicies[finalizerForeground]
	} else if o.metadata.orphan {
		propagation = finalizerPolicies[finalizerOrphan]
	}
	// The references must not change between the decision and the delete.
	options := DeleteOptions{UID: o.uid, Revision: strconv.FormatUint(o.revision, 10)}
	dependents, circle := gc.graph.circle(parseUID([]byte(o.uid)))
	if len(v.waiting) > 0 && dependents {
		propagation = finalizerPolicies[finalizerForeground]
		if circle {
			// Each would wait for the other: this one stops blocking its owners.
			if err := gc.unblock(ctx, o); err != nil {
				return err
			}
			options.Revision = ""
		}
	}
	options.Propagation = propagation
	return ignoreNotFound(gc.Cluster.Delete(ctx, o.typ.Resource, o.namespace, o.name, options))
}

// finalizerPolicies are the propagation policies of the finalizers.
var finalizerPolicies = map[string]string{finalizerForeground: "Foreground", finalizerOrphan: "Orphan"}

// unblock removes the blocking flag from all references of an object.
func (gc *collector) unblock(ctx context.Context, o *subject) error {
	return gc.edit(ctx, o.typ, o.namespace, o.name, o.uid, func(meta document.Value) {
		for _, owner := range meta.Get("ownerReferences").Elements() {
			if owner.Get("blockOwnerDeletion").Bool() {
				owner.SetBool("blockOwnerDeletion", false)
			}
		}
	})
}

// classify reads the present state of the owners. Owners of a kind that is not served,
// and those that a cluster-scoped object cannot have, count as existing: nothing is
// deleted for a reference that cannot be checked.
func (gc *collector) classify(ctx context.Context, o *subject) (v verdict, err error) {
	v.dangling, v.waiting = make(map[string]struct{}), make(map[string]struct{})
	for i := range o.owners {
		r := &o.owners[i]
		owner, err := gc.owner(ctx, o.namespace, r)
		if errors.Is(err, errNamespaced) {
			gc.reportOwner(ctx, o, r)
		}
		switch {
		case errors.Is(err, errNamespaced), errors.Is(err, ErrUnknownKind):
			v.solid++
		case err != nil:
			return v, err
		case owner == nil || owner.uid != r.uid:
			v.dangling[r.uid] = struct{}{}
			if gc.hasOtherKey(r) {
				gc.reportOwner(ctx, o, r)
			}
		case owner.waits():
			v.waiting[r.uid] = struct{}{}
		default:
			v.solid++
		}
	}
	return v, nil
}

// owner reads the present metadata of an owner, nil for none.
func (gc *collector) owner(ctx context.Context, namespace string, r *ownerReference) (*metadata, error) {
	key, err := gc.ownerKey(namespace, r)
	if err == nil {
		return gc.read(ctx, key)
	}
	if !errors.Is(err, ErrUnknownKind) || !gc.Elsewhere.Keeps(r.kind.APIVersion) {
		return nil, err
	}
	body, err := gc.Elsewhere.Find(ctx, r.kind.APIVersion, r.kind.Kind, namespace, r.name)
	if err != nil || body == nil {
		return nil, err
	}
	m := readMetadata(body)
	return &m, nil
}

// removeOwners removes references from an object's metadata.
func removeOwners(meta document.Value, which func(owner document.Value) bool) {
	list := meta.Get("ownerReferences")
	list.RemoveFunc(which)
	if list.Exists() && list.Len() == 0 {
		meta.Remove("ownerReferences")
	}
}

// removeString removes a string from a list.
func removeString(obj document.Value, field, text string) {
	list := obj.Get(field)
	list.RemoveFunc(func(v document.Value) bool { return v.Equals(text) })
	if list.Exists() && list.Len() == 0 {
		obj.Remove(field)
	}
}
