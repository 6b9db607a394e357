package admission

import (
	"context"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
)

// enforceOwners requires the right to delete an object whose owners change, since the
// garbage collector deletes it by them, and the right to hold up the end of an owner that
// waits for it. An owner by a reference may be held up: the document says so. Refusals have the words of 1.25.
func (c *Chain) enforceOwners(ctx context.Context, r *Request) error {
	if r.User == nil || r.Subresource == "status" && r.Resource.Plural == "pods" && r.Resource.GV.Group == "" {
		return nil // the server itself; the status of a pod, whose write leaves owners alone
	}
	owners, before := r.Object.At("metadata", "ownerReferences"), r.Old.At("metadata", "ownerReferences")
	if owners.Len() == 0 && before.Len() == 0 || equal(owners, before) {
		return nil
	}
	if r.Operation != Create {
		may, reason, err := c.objects.May(ctx, r.User, Right{"delete", r.Resource.GV.Group, r.Resource.GV.Version, r.Resource.Plural,
			r.Subresource, r.Namespace, r.Name})
		if !may {
			return r.forbidf("cannot set an ownerRef on a resource you can't delete: %s, %v", reason, err)
		}
	}
	blocking := slices.DeleteFunc(newlyBlocking(owners, before), func(owner document.Value) bool { return slices.Contains(r.Kept, owner.Get("uid").Text()) })
	if len(blocking) == 0 {
		return nil
	}
	if all, _, _ := c.objects.May(ctx, r.User, Right{"update", "*", "*", "*", "finalizers", "", "*"}); all {
		return nil
	}
	for _, owner := range blocking {
		apiVersion, kind := owner.Get("apiVersion").Text(), owner.Get("kind").Text()
		res := c.objects.Kind(apiVersion, kind)
		if res == nil {
			return r.forbidf("cannot set blockOwnerDeletion in this case because cannot find RESTMapping for APIVersion %s Kind %s: no matches for kind %q in version %q",
				apiVersion, kind, kind, apiVersion)
		}
		right := Right{"update", res.GV.Group, res.GV.Version, res.Plural, "finalizers", "", owner.Get("name").Text()}
		if res.Namespaced {
			right.Namespace = r.Namespace
		}
		if may, reason, err := c.objects.May(ctx, r.User, right); !may {
			return r.forbidf("cannot set blockOwnerDeletion if an ownerReference refers to a resource you can't set finalizers on: %s, %v", reason, err)
		}
	}
	return nil
}

// newlyBlocking are the owners whose deletion waits for the object, and did not before.
func newlyBlocking(owners, before document.Value) (blocking []document.Value) {
	was := map[string]bool{}
	for _, o := range before.Elements() {
		was[o.Get("uid").Text()] = o.Get("blockOwnerDeletion").Bool()
	}
	for _, o := range owners.Elements() {
		if o.Get("blockOwnerDeletion").Bool() && !was[o.Get("uid").Text()] {
			blocking = append(blocking, o)
		}
	}
	return blocking
}
