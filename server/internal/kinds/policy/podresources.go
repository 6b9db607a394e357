package policy

import (
	"maps"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// A pod may ask for resources as a whole, from 1.32 on, next to those of its containers.

// podLevelDefaults fills in what follows from the resources of containers: a pod that limits a resource requests it, and huge
// pages that containers limit are limited for the pod.
func podLevelDefaults(spec document.Value) {
	resources := spec.Get("resources")
	if !isSet(resources) || !kinds.HasAmounts(resources) {
		return
	}
	pages := kinds.ContainerAmounts(spec, "limits")
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		if isHugePages(name) && !resources.At("requests", name).Exists() && !resources.At("limits", name).Exists() {
			resources.SetObject("limits").SetString(name, pages[name].String())
		}
	}
	limits := resources.Get("limits")
	if limits.Len() == 0 {
		return
	}
	requests := kinds.ContainerAmounts(spec, "requests")
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if kinds.IsPodLevel(name) && mayOvercommit(name) && !resources.At("requests", name).Exists() {
			resources.SetObject("requests").SetString(name, requests[name].String())
		}
	}
	for name, v := range limits.Members() {
		if kinds.IsPodLevel(name) && !resources.At("requests", name).Exists() {
			resources.SetObject("requests").Put(name, v)
		}
	}
}

// podLevel checks the resources of a pod as a whole, and that those of its containers fit in.
func (c *causes) podLevel(spec document.Value) {
	resources := spec.Get("resources")
	if !isSet(resources) {
		return
	}
	if spec.At("os", "name").Equals("windows") {
		c.Forbidden(resources.Path(), "may not be set for a windows pod")
		return
	}
	if claims := resources.Get("claims"); isSet(claims) {
		c.Forbidden(claims.Path(), "a pod as a whole has no claims")
	}
	c.amountsNamed(resources.Path, resources.Get("requests"), resources.Get("limits"), (*causes).podResourceName)
	c.claimed(resources.Get("claims"), spec.Get("resourceClaims"))
	c.sumsFit(spec, resources, "requests", func(string) bool { return true })
	c.sumsFit(spec, resources, "limits", isHugePages)
	for i, container := range spec.Get("containers").Elements() {
		for name, v := range container.At("resources", "limits").Members() {
			if most := resources.At("limits", name); most.Exists() && compare(v, most) > 0 {
				c.InvalidText(element(resources.Path()+".containers", i)+"["+name+"].limits", v.Text(), "must be less than or equal to pod limits of "+most.Text())
			}
		}
	}
}

// podResourceName checks the name of a resource of a pod as a whole.
func (c *causes) podResourceName(field, name string) {
	before := len(c.Causes)
	if c.FormatText(field, name, "resource-name"); len(c.Causes) == before && !kinds.IsPodLevel(name) {
		c.NotSupportedText(field, name, "cpu", "hugepages-", "memory")
	}
}

// sumsFit checks that the containers of a pod together do not need more than the pod.
func (c *causes) sumsFit(spec, resources document.Value, list string, counts func(name string) bool) {
	sums := kinds.ContainerAmounts(spec, list)
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if own := resources.At(list, name); own.Exists() && counts(name) && sums[name].Compare(amount(own)) > 0 {
			c.InvalidText(key(resources.Get(list), name), own.Text(), "must be greater than or equal to aggregate container "+list+" of "+sums[name].String())
		}
	}
}

// qosOf is the class of a pod whose resources are those of the whole.
func qosOf(resources document.Value) string {
	requests, limits := resources.Get("requests"), resources.Get("limits")
	any, guaranteed := false, limits.Len() == 0 || !isZero(limits.Get("cpu")) && !isZero(limits.Get("memory"))
	for _, name := range [...]string{"cpu", "memory"} {
		request, limit := requests.Get(name), limits.Get(name)
		any = any || !isZero(request) || !isZero(limit)
		guaranteed = guaranteed && isZero(request) == isZero(limit) && (isZero(request) || compare(request, limit) == 0)
	}
	return qosName(any, guaranteed)
}
