package admission

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// runtimeClass gives a new pod the overhead of its runtime class, and sends it to the
// nodes that have the runtime.
func (c *Chain) runtimeClass(ctx context.Context, r *Request) error {
	if r.Operation != Create || !r.is("", "pods") {
		return nil
	}
	class, release, err := c.runtimeClassOf(ctx, r)
	defer release()
	if err != nil || !class.Exists() {
		return err
	}
	spec := r.Object.Get("spec")
	if cost := class.At("overhead"); cost.Exists() {
		own, fixed := spec.Get("overhead"), cost.Get("podFixed")
		if own.Len() > 0 && !sameMembers(own, fixed) {
			return r.forbidf("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
		}
		if fixed.Len() > 0 {
			spec.Put("overhead", fixed)
		}
	}
	scheduling := class.Get("scheduling")
	if wanted := scheduling.Get("nodeSelector"); wanted.Len() > 0 {
		selector := spec.SetObject("nodeSelector")
		for key, v := range wanted.Members() {
			if own := selector.Get(key); own.Exists() && own.Text() != v.Text() {
				return r.forbidf("conflict: runtimeClass.scheduling.nodeSelector[%s] = %s; pod.spec.nodeSelector[%s] = %s", key, v.Text(), key, own.Text())
			}
			selector.SetString(key, v.Text())
		}
	}
	tolerate(spec, tolerationsOf(scheduling))
	return nil
}

// checkOverhead checks that a pod has its class's overhead, whatever has changed it
// since.
func (c *Chain) checkOverhead(ctx context.Context, r *Request) error {
	if r.Operation != Create || !r.is("", "pods") {
		return nil
	}
	class, release, err := c.runtimeClassOf(ctx, r)
	defer release()
	if err != nil {
		return err
	}
	own := r.Object.At("spec", "overhead")
	switch cost := class.Get("overhead"); {
	case cost.Exists() && !sameMembers(own, cost.Get("podFixed")):
		return r.forbidf("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
	case !cost.Exists() && own.Len() > 0:
		return r.forbidf("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
	}
	return nil
}

// runtimeClassOf reads the class that a pod names; absent if it names none.
func (c *Chain) runtimeClassOf(ctx context.Context, r *Request) (class document.Value, release func(), err error) {
	name := r.Object.At("spec", "runtimeClassName")
	if name.Kind() != document.String {
		return document.Value{}, func() {}, nil
	}
	class, release, err = c.objects.Get(ctx, "node."+profile.GroupSuffix, "runtimeclasses", "", name.Text())
	var known *api.Error
	if errors.As(err, &known) && known.Reason == api.ReasonNotFound {
		err = r.forbidf("pod rejected: RuntimeClass %q not found", name.Text())
	}
	return class, release, err
}

// sameMembers reports whether two maps of quantities, which are canonical, are
// equal.
func sameMembers(a, b document.Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for name, v := range a.Members() {
		if other := b.Get(name); !other.Exists() || other.Text() != v.Text() {
			return false
		}
	}
	return true
}
