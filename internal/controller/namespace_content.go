package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// chunk bounds the objects held in memory for deletion.
const chunk = 1000

// victim is an object to delete.
type victim struct{ name, uid string }

// empty deletes all objects that a view has in a namespace: pods first, and the rest, which
// they may use, only once no pod is left. Without patience nothing is awaited.
func (n *namespaces) empty(ctx context.Context, view store.Reader, namespace string, patience bool) []error {
	var errs []error
	for _, t := range contentOrder(n.cluster) {
		if patience && t.Graceful == nil {
			switch pods, err := n.hasPods(ctx, namespace); {
			case err != nil:
				return append(errs, err)
			case pods:
				return errs
			}
			patience = false
		}
		prefix := t.key(namespace, "")
		for from := prefix; from != "" && ctx.Err() == nil; {
			var objects []victim
			next := ""
			err := view.Scan(ctx, prefix, from, func(e *store.Entry) bool {
				if len(objects) == chunk {
					next = string(append([]byte(nil), e.Key...))
					return false
				}
				uid, _ := document.Find(e.Body, "metadata", "uid")
				objects = append(objects, victim{name: string([]byte(e.Key[len(prefix):])), uid: document.Unquote(uid)})
				return true
			})
			if err != nil {
				errs = append(errs, err)
				break
			}
			errs = append(errs, forEach(ctx, parallel, objects, func(ctx context.Context, d victim) error {
				err := n.Cluster.Delete(ctx, t.Resource, namespace, d.name, DeleteOptions{Propagation: "Background", UID: d.uid})
				if err == nil || hasReason(err, api.ReasonNotFound) || hasReason(err, api.ReasonConflict) {
					return nil // after a conflict it is another object, which the next sync finds
				}
				return fmt.Errorf("%s %s: %w", t.Plural, d.name, err)
			})...)
			from = next
		}
	}
	return errs
}

// hasPods reports whether objects that end gracefully are left in a namespace.
func (n *namespaces) hasPods(ctx context.Context, namespace string) (found bool, err error) {
	view, err := n.Store.At(ctx, 0)
	if err != nil {
		return false, err
	}
	defer func() { _ = view.Close() }()
	for _, t := range contentOrder(n.cluster) {
		if t.Graceful == nil || found {
			break
		}
		err = errors.Join(err, view.ScanMeta(ctx, t.key(namespace, ""), "", func(*store.Entry) bool {
			found = true
			return false
		}))
	}
	return found, err
}

// remains is the rest of a namespace's content.
type remains struct {
	objects    map[string]int // by "plural.group"
	finalizers map[string]int // by finalizer
}

// count counts the present objects of a namespace.
func (n *namespaces) count(ctx context.Context, namespace string) (remains, error) {
	left := remains{objects: make(map[string]int), finalizers: make(map[string]int)}
	view, err := n.Store.At(ctx, 0)
	if err != nil {
		return left, err
	}
	defer func() { _ = view.Close() }()
	for _, t := range contentOrder(n.cluster) {
		err := view.Scan(ctx, t.key(namespace, ""), "", func(e *store.Entry) bool {
			left.objects[t.Plural+"."+t.GV.Group]++
			finalizers, _ := document.Find(e.Body, "metadata", "finalizers")
			document.EachElement(finalizers, func(value []byte) bool {
				left.finalizers[document.Unquote(value)]++
				return true
			})
			return true
		})
		if err != nil {
			return left, err
		}
	}
	return left, nil
}
