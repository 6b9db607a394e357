package admission

import (
	"context"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

const schedulingGroup = "scheduling." + profile.GroupSuffix

// defaultPreemption is the preemption policy of pods whose class has none.
const defaultPreemption = "PreemptLowerPriority"

// Class is the part of a priority class that pods get.
type Class struct {
	Name, Preemption string
	Value            int64
	Default          bool // for pods without a class
}

// ReadClass reads a stored priority class.
func ReadClass(obj document.Value) *Class {
	c := &Class{Name: strings.Clone(obj.At("metadata", "name").Text()), Preemption: strings.Clone(obj.Get("preemptionPolicy").Text()),
		Default: obj.Get("globalDefault").Bool()}
	c.Value, _ = obj.Get("value").Int()
	if c.Preemption == "" {
		c.Preemption = defaultPreemption
	}
	return c
}

// oneDefault refuses a second class that is the default.
func (c *Chain) oneDefault(_ context.Context, r *Request) error {
	if !r.is(schedulingGroup, "priorityclasses") || !r.Object.Get("globalDefault").Bool() {
		return nil
	}
	if other := c.objects.Class(""); other != nil && (r.Operation == Create || other.Name != r.Name) {
		return r.forbidf("PriorityClass %v is already marked as default. Only one default can exist", other.Name)
	}
	return nil
}

// priority turns the name of the priority class of a pod, or of a group of pods, into numbers.
func (c *Chain) priority(_ context.Context, r *Request) error {
	if r.is(schedulingGroup, "podgroups") {
		return c.groupPriority(r)
	}
	if !r.is("", "pods") {
		return nil
	}
	spec := r.Object.SetObject("spec")
	if r.Operation == Update {
		// Neither can change; clients that do not know them leave them out.
		for _, field := range [...]string{"priority", "preemptionPolicy"} {
			if old := r.Old.At("spec", field); old.Exists() && !spec.Get(field).Exists() {
				spec.Put(field, old)
			}
		}
		return nil
	}
	found, err := c.setPriority(r, "the integer value of priority (%d) must not be provided in pod spec; priority admission controller computed %d from the given PriorityClass name")
	if err != nil {
		return err
	}
	if p := spec.Get("preemptionPolicy"); p.Exists() && !p.Equals(found.Preemption) {
		return r.forbidf("the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority admission controller computed %s from the given PriorityClass name", p.Text(), found.Preemption)
	}
	spec.SetString("preemptionPolicy", found.Preemption)
	return nil
}

// setPriority gives a specification the name and the number of its priority class, or of the default one, and returns the
// class. Another number that the sender has chosen is refused in the words of other, which has both numbers.
func (c *Chain) setPriority(r *Request, other string) (*Class, error) {
	spec := r.Object.SetObject("spec")
	name := spec.Get("priorityClassName").Text()
	found := c.objects.Class(name)
	switch {
	case found != nil:
		spec.SetString("priorityClassName", found.Name)
	case name != "":
		return nil, r.forbidf("no PriorityClass with name %s was found", name)
	default:
		found = &Class{Preemption: defaultPreemption}
	}
	if n, ok := spec.Get("priority").Int(); ok && n != found.Value {
		return nil, r.forbidf(other, n, found.Value)
	}
	spec.SetInt("priority", found.Value)
	return found, nil
}
