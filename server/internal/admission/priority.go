package admission

import (
	"context"
	"errors"
	"fmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// defaultPreemption is what a pod may do to pods of lower priority when its
// class does not say.
const defaultPreemption = "PreemptLowerPriority"

// class is what a priority class gives to a pod.
type class struct {
	name, preemption string
	value            int64
}

// priority turns the name of a pod's priority class into numbers.
func (c *Chain) priority(ctx context.Context, r *Request) error {
	if !r.is("", "pods") {
		return nil
	}
	spec := r.Object.SetObject("spec")
	if r.Operation == Update {
		// Neither can change; a client that knows less than the server leaves
		// them out.
		for _, field := range [...]string{"priority", "preemptionPolicy"} {
			if old := r.Old.At("spec", field); old.Exists() && !spec.Get(field).Exists() {
				spec.Put(field, old)
			}
		}
		return nil
	}
	found, err := c.classOf(ctx, spec.Get("priorityClassName").Text())
	if err != nil {
		return refusePod(r, err)
	}
	if found.name != "" {
		spec.SetString("priorityClassName", found.name)
	}
	if n, ok := spec.Get("priority").Int(); ok && n != found.value {
		return forbidPod(r, fmt.Sprintf("the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name", n, found.value))
	}
	spec.SetInt("priority", found.value)
	if p := spec.Get("preemptionPolicy"); p.Exists() && !p.Equals(found.preemption) {
		return forbidPod(r, fmt.Sprintf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", p.Text(), found.preemption))
	}
	spec.SetString("preemptionPolicy", found.preemption)
	return nil
}

// classOf finds the class with a name, or for none the default one: of several
// that call themselves that, the one with the least value.
func (c *Chain) classOf(ctx context.Context, name string) (class, error) {
	found := class{preemption: defaultPreemption}
	if name != "" {
		obj, release, err := c.objects.Get(ctx, "scheduling."+profile.GroupSuffix, "priorityclasses", "", name)
		defer release()
		if err != nil {
			return found, err
		}
		return readClass(obj), nil
	}
	err := c.objects.EachClass(ctx, func(obj document.Value) bool {
		if obj.Get("globalDefault").Bool() {
			if next := readClass(obj); found.name == "" || next.value < found.value {
				found = next
			}
		}
		return true
	})
	return found, err
}

func readClass(obj document.Value) class {
	c := class{name: obj.At("metadata", "name").Text(), preemption: obj.Get("preemptionPolicy").Text()}
	c.value, _ = obj.Get("value").Int()
	if c.preemption == "" {
		c.preemption = defaultPreemption
	}
	return c
}

// refusePod says that something a pod needs is not there; other errors stay what
// they are.
func refusePod(r *Request, err error) error {
	var known *api.Error
	if errors.As(err, &known) && known.Reason == api.ReasonNotFound {
		return forbidPod(r, fmt.Sprintf("no PriorityClass with name %s was found", known.Name))
	}
	return err
}

func forbidPod(r *Request, why string) error {
	return api.Forbidden(r.Resource.GroupResource(), r.Object.At("metadata", "name").Text(), why)
}
