package controller

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// namespaces is the controller that empties a namespace that is being deleted, and
// removes its finalizer then.
//
// Objects that stay for a while (with finalizers, pods with a grace period) are waited
// for: every change of an object in the namespace queues it again. Objects in a deleted
// namespace are deleted too: a create that was late by an instant can leave one.
type namespaces struct {
	*cluster
	queue *queue[string] // by name

	// used by the feed's goroutine only
	ending map[string]bool // by name of all namespaces, whether they are being deleted
}

// settleTime is the time during which changes in a namespace are gathered before it is
// processed again.
const settleTime = 20 * time.Millisecond

// namespaceFinalizer is this controller's entry in spec.finalizers.
const namespaceFinalizer = profile.MediaTypeWord

func newNamespaces(ctx context.Context, c *cluster) handler {
	n := &namespaces{cluster: c, ending: make(map[string]bool)}
	n.queue = newQueue(ctx, Namespace, 4, c.Logger, n.sync)
	return n
}

func (n *namespaces) wants(t *Type) bool { return t == n.cluster.namespaces }
func (n *namespaces) reset()             { clear(n.ending) }
func (n *namespaces) close()             { n.queue.close() }

func (n *namespaces) observe(_ context.Context, o *observation) {
	if o.typ == n.cluster.namespaces {
		_, name := o.typ.split(o.key)
		if o.op == store.OpDelete {
			delete(n.ending, name)
			return
		}
		name = strings.Clone(name)
		if n.ending[name] = terminating(o.body); n.ending[name] {
			n.queue.add(name)
		}
		return
	}
	if !o.typ.Namespaced {
		return
	}
	namespace, _ := o.typ.split(o.key)
	ending, known := n.ending[namespace]
	if ending || !known && o.op != store.OpDelete {
		n.queue.addAfter(strings.Clone(namespace), settleTime)
	}
}

// sync processes one namespace.
func (n *namespaces) sync(ctx context.Context, name string) error {
	view, err := n.Store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	e, err := view.Get(n.cluster.namespaces.key("", name))
	if errors.Is(err, store.ErrNotFound) {
		// Only the objects of this view: the name may be used again by now.
		return errors.Join(n.empty(ctx, view, name, false)...)
	}
	if err != nil || !terminating(e.Body) {
		return err
	}
	if left, _ := document.Find(e.Body, "spec", "finalizers"); len(left) == 0 || string(left) == "[]" {
		return nil
	}
	errs := n.empty(ctx, view, name, true)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	left, err := n.count(ctx, name)
	if err != nil {
		return err
	}
	elsewhere, unknown := n.emptyElsewhere(ctx, name, &errs)
	local := len(left.objects)
	maps.Copy(left.objects, elsewhere)
	if err := n.report(ctx, name, conditions(errs, unknown, left)); err != nil {
		return ignoreNotFound(err)
	}
	if all := append(errs, unknown...); len(all) > 0 {
		return errors.Join(all...)
	}
	if len(elsewhere) > 0 {
		n.queue.addAfter(name, elsewhereTime)
		return nil
	}
	if local > 0 {
		return nil // the awaited changes will be observed
	}
	return n.finalize(ctx, name)
}

// elsewhereTime is the pause before a namespace is processed again whose objects in other
// servers are still there: their changes are not observed.
const elsewhereTime = time.Second

// emptyElsewhere deletes the objects of a namespace that other servers keep.
func (n *namespaces) emptyElsewhere(ctx context.Context, name string, errs *[]error) (left map[string]int, unknown []error) {
	left, unknown, failed := n.Elsewhere.EmptyNamespace(ctx, name)
	*errs = append(*errs, failed...)
	return left, unknown
}

// finalize removes the finalizer of an empty namespace.
func (n *namespaces) finalize(ctx context.Context, name string) error {
	err := n.Cluster.Edit(ctx, n.cluster.namespaces.Resource, "", name, "finalize", func(obj document.Value) {
		if terminatingValue(obj) {
			removeString(obj.Get("spec"), "finalizers", namespaceFinalizer)
		}
	})
	return ignoreNotFound(err)
}

func terminatingValue(obj document.Value) bool {
	return obj.At("metadata", "deletionTimestamp").Text() != ""
}

// contentOrder lists the types whose objects are deleted with their namespace: first
// those with a grace period (pods), so that processes can stop before they lose the
// objects that they use.
func contentOrder(c *cluster) []*Type {
	var graceful, others []*Type
	for _, t := range c.order() {
		switch {
		case !t.Namespaced || !t.Verbs.Has(api.VerbDelete):
		case t.Graceful != nil:
			graceful = append(graceful, t)
		default:
			others = append(others, t)
		}
	}
	return append(graceful, others...)
}
