package kinds

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/quantity"
)

// BestEffort reports whether no container of a pod's spec requests or limits cpu or memory.
// The status says so too, but only after the pod was prepared for its storage.
func BestEffort(spec document.Value) bool {
	if resources := spec.Get("resources"); HasAmounts(resources) {
		return !namesCompute(resources)
	}
	for _, list := range [...]string{"containers", "initContainers"} {
		for _, c := range spec.Get(list).Elements() {
			if namesCompute(c.Get("resources")) {
				return false
			}
		}
	}
	return true
}

// namesCompute reports whether resources name an amount of cpu or memory.
func namesCompute(resources document.Value) bool {
	for _, member := range [...]string{"requests", "limits"} {
		for _, name := range [...]string{"cpu", "memory"} {
			if q, err := quantity.Parse(resources.At(member, name).Text()); err == nil && q.Sign() > 0 {
				return true
			}
		}
	}
	return false
}

// HasAmounts reports whether resources name any amount.
func HasAmounts(resources document.Value) bool {
	return resources.Get("requests").Len()+resources.Get("limits").Len() > 0
}

// Amounts are quantities by the names of their resources.
type Amounts map[string]quantity.Quantity

// AmountsOf are the values of a map; other text counts as 0.
func AmountsOf(v document.Value) Amounts {
	out := Amounts{}
	for name, q := range v.Members() {
		out[name], _ = quantity.Parse(q.Text())
	}
	return out
}

// Add adds other amounts to these.
func (a Amounts) Add(b Amounts) {
	for name, q := range b {
		a[name] = a[name].Plus(q)
	}
}

func (a Amounts) atLeast(b Amounts) {
	for name, q := range b {
		if now, ok := a[name]; !ok || q.Compare(now) > 0 {
			a[name] = q
		}
	}
}

// ContainerAmounts are the requests or the limits of all containers of a pod's spec together: those that run at a time, or
// what an init container needs next to the sidecars before it, if that is more.
func ContainerAmounts(spec document.Value, member string) Amounts {
	return sumOf(spec, member, func(container document.Value) Amounts { return AmountsOf(container.At("resources", member)) })
}

// sumOf is ContainerAmounts with given amounts of the containers that stay.
func sumOf(spec document.Value, member string, amounts func(container document.Value) Amounts) Amounts {
	sum, sidecars, most := Amounts{}, Amounts{}, Amounts{}
	for _, c := range spec.Get("containers").Elements() {
		sum.Add(amounts(c))
	}
	for _, c := range spec.Get("initContainers").Elements() {
		own := AmountsOf(c.At("resources", member))
		if c.Get("restartPolicy").Equals("Always") {
			own = amounts(c)
			sum.Add(own)
			sidecars.Add(own)
			own = sidecars
		} else {
			own.Add(sidecars)
		}
		most.atLeast(own)
	}
	sum.atLeast(most)
	return sum
}

// IsPodLevel reports whether a pod as a whole can ask for a resource.
func IsPodLevel(name string) bool {
	return name == "cpu" || name == "memory" || strings.HasPrefix(name, "hugepages-")
}

// PodAmounts are ContainerAmounts, in which the amounts that the pod has as a whole count in place of those of its containers.
func PodAmounts(spec document.Value, member string) Amounts {
	return ofWhole(ContainerAmounts(spec, member), spec, member)
}

func ofWhole(sum Amounts, spec document.Value, member string) Amounts {
	for name, q := range AmountsOf(spec.At("resources", member)) {
		if IsPodLevel(name) {
			sum[name] = q
		}
	}
	return sum
}

// HeldAmounts are PodAmounts of a pod that may be resized: a container counts with the most of what it asks for, what its node has
// allocated, and what it has, as far as the status reports them. since names the release.
func HeldAmounts(pod document.Value, member string, since func(release string) bool) Amounts {
	spec, status := pod.Get("spec"), pod.Get("status")
	refused := status.Get("resize").Equals("Infeasible")
	if since("1.33") {
		refused = status.Get("conditions").ElementBy("type", "PodResizePending").Get("reason").Equals("Infeasible")
	}
	reports := map[string]document.Value{}
	for _, list := range [...]string{"containerStatuses", "initContainerStatuses"} {
		for _, report := range status.Get(list).Elements() {
			if name := report.Get("name").Text(); !reports[name].Exists() {
				reports[name] = report
			}
		}
	}
	held := func(container document.Value) Amounts {
		own, report := AmountsOf(container.At("resources", member)), reports[container.Get("name").Text()]
		if has := report.Get("resources"); !has.Exists() || has.IsNull() {
			return own
		}
		if refused {
			own = Amounts{} // and never given
		}
		own.atLeast(AmountsOf(report.At("resources", member)))
		if member == "requests" && since("1.33") {
			own.atLeast(AmountsOf(report.Get("allocatedResources")))
		}
		return own
	}
	return ofWhole(sumOf(spec, member, held), spec, member)
}
