package controller

import (
	"context"
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// The finalizers that protect objects in use. New objects have them from the admission
// plug-in StorageObjectInUseProtection.
const (
	finalizerClaim  = profile.LabelDomain + "/pvc-protection"
	finalizerVolume = profile.LabelDomain + "/pv-protection"
)

// protection reads from the stored form of an object whether its finalizer is to be added
// (it is not being deleted and has none) or checked (it is being deleted and has it).
func protection(body []byte, finalizer string) (give, look bool) {
	list, _ := document.Find(body, "metadata", "finalizers")
	has := false
	document.EachElement(list, func(value []byte) bool {
		has = has || document.Unquote(value) == finalizer
		return true
	})
	ending := terminating(body)
	return !ending && !has, ending && has
}

// addFinalizer is the edit that adds a finalizer to an object that is not being
// deleted.
func addFinalizer(finalizer string) func(document.Value) {
	return func(obj document.Value) {
		if terminatingValue(obj) {
			return
		}
		list := obj.SetObject("metadata").SetArray("finalizers")
		for _, f := range list.Elements() {
			if f.Equals(finalizer) {
				return
			}
		}
		list.AppendString(finalizer)
	}
}

// removeFinalizer is the edit that removes a finalizer from an object that is being
// deleted.
func removeFinalizer(finalizer string) func(document.Value) {
	return func(obj document.Value) {
		if terminatingValue(obj) {
			removeString(obj.Get("metadata"), "finalizers", finalizer)
		}
	}
}

// volumes is the controller that removes the finalizer of a volume that is being deleted
// when no claim is bound to it.
type volumes struct {
	*cluster
	typ   *Type
	queue *queue[string] // by name
}

func newVolumeProtection(ctx context.Context, c *cluster) handler {
	v := &volumes{cluster: c, typ: c.find("", "persistentvolumes")}
	v.queue = newQueue(ctx, VolumeProtection, parallel, c.Logger, v.sync)
	return v
}

func (v *volumes) wants(t *Type) bool { return t == v.typ }
func (v *volumes) reset()             {}
func (v *volumes) close()             { v.queue.close() }

func (v *volumes) observe(_ context.Context, o *observation) {
	if o.typ != v.typ || o.op == store.OpDelete {
		return
	}
	if give, look := protection(o.body, finalizerVolume); give || look && !bound(o.body) {
		_, name := o.typ.split(o.key)
		v.queue.add(strings.Clone(name))
	}
}

// bound reports whether a claim has the volume.
func bound(body []byte) bool {
	phase, _ := document.Find(body, "status", "phase")
	return document.Unquote(phase) == "Bound"
}

func (v *volumes) sync(ctx context.Context, name string) error {
	e, err := v.Store.Get(ctx, v.typ.key("", name))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	give, look := protection(e.Body, finalizerVolume)
	edit := addFinalizer(finalizerVolume)
	switch {
	case give:
	case look && !bound(e.Body):
		take := removeFinalizer(finalizerVolume)
		edit = func(obj document.Value) {
			if !obj.At("status", "phase").Equals("Bound") {
				take(obj)
			}
		}
	default:
		return nil
	}
	return ignoreNotFound(v.Cluster.Edit(ctx, v.typ.Resource, "", name, "", edit))
}
