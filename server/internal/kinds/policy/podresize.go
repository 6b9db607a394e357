package policy

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// Resources of a running pod change through a subresource, from 1.32 on. A write of it changes the amounts of containers, and
// of the whole pod, and nothing else.

// resizable are the members of a container that such a write takes from its sender.
var resizable = []string{"resources", "resizePolicy"}

// ResizePod gives a pod all of the old one but its resources. Where the containers are others than before it changes nothing,
// so that the rules refuse the write.
func (p Policy) ResizePod(pod, old document.Value) {
	spec, was := pod.SetObject("spec"), old.Get("spec")
	lists := podContainers[:1]
	if p.on("SidecarContainers") {
		lists = podContainers[:2]
	}
	if !sameNames(spec, was, "containers") || !sameNames(spec, was, "initContainers") {
		return
	}
	mutable := append([]string{}, lists...)
	if p.on("InPlacePodLevelResourcesVerticalScaling") {
		mutable = append(mutable, "resources")
	}
	restore(spec, was, mutable)
	for _, list := range lists {
		for i, container := range spec.Get(list).Elements() {
			restore(container, was.Get(list).Index(i), resizable)
		}
	}
	if p.on("InPlacePodVerticalScaling") && !p.since("1.33") && !document.Equal(spec, was) {
		pod.SetObject("status").SetString("resize", "Proposed")
	}
}

// restore gives an object the members of old, all but some.
func restore(obj, old document.Value, mutable []string) {
	for name := range obj.Members() {
		if !slices.Contains(mutable, name) && !old.Get(name).Exists() {
			obj.Remove(name)
		}
	}
	for name, v := range old.Members() {
		if !slices.Contains(mutable, name) && !document.Equal(obj.Get(name), v) {
			obj.Put(name, v)
		}
	}
}

// sameNames reports whether two lists have elements of the same names in the same order.
func sameNames(a, b document.Value, list string) bool {
	before := b.Get(list)
	if a.Get(list).Len() != before.Len() {
		return false
	}
	for i, v := range a.Get(list).Elements() {
		if !document.Equal(v.Get("name"), before.Index(i).Get("name")) {
			return false
		}
	}
	return true
}

// ValidateResizePod checks a pod whose resources are written, and which changes that writes.
func (p Policy) ValidateResizePod(pod, old document.Value) []schema.Cause {
	c := causes{p.ValidatePod(pod, pod)}
	if pod == old || !old.Exists() {
		return c.Causes
	}
	spec, was := pod.Get("spec"), old.Get("spec")
	switch {
	case isStatic(old):
		return only("static pods cannot be resized")
	case was.At("os", "name").Equals("windows"):
		return only("windows pods cannot be resized")
	}
	class := old.At("status", "qosClass").Text()
	if class == "" {
		class = p.qosClass(was)
	}
	if p.qosClass(spec) != class {
		c.InvalidText("spec", class, "the QoS class of a pod may not change when its resources do")
	}
	if !resizesOnNode(old.Get("status")) {
		c.Forbidden("spec", "the node of the pod does not support a change of resources")
	}
	if kinds.HasAmounts(spec.Get("resources")) || kinds.HasAmounts(was.Get("resources")) {
		if !p.on("InPlacePodLevelResourcesVerticalScaling") {
			c.Forbidden(nowhere, "the resources of a pod as a whole cannot be changed")
			return c.Causes
		}
		c.podLevelResize(spec.Get("resources"), was.Get("resources"))
	}
	if !isEmpty(old.At("status", "nodeAllocatableResourceClaimStatuses")) {
		c.Forbidden("spec", "pods with claims on resources of the node cannot be resized")
	}
	if !c.sameOrder(spec, was) {
		return c.Causes
	}
	p.containersResize(&c, spec, was)
	if len(c.Causes) == 0 && !sameBut(spec, was, "containers", "initContainers", "resources") {
		c.Forbidden("spec", onlyAmounts)
	}
	return c.Causes
}

const (
	onlyAmounts = "only cpu and memory resources are mutable"
	// nowhere is the path of a cause about the whole pod.
	nowhere = "[]"
)

// only is the one cause of a pod that cannot be changed at all.
func only(why string) []schema.Cause {
	var c causes
	c.Forbidden(nowhere, why)
	return c.Causes
}

// isStatic reports whether a pod mirrors one that its node runs by itself.
func isStatic(pod document.Value) bool {
	return pod.At("metadata", "annotations", mirrorAnnotation).Exists()
}

// resizesOnNode reports whether the node of a pod reports the resources of the first running container. Nodes that do not
// know such changes do not.
func resizesOnNode(status document.Value) bool {
	for _, container := range status.Get("containerStatuses").Elements() {
		if isSet(container.At("state", "running")) {
			return isSet(container.Get("resources"))
		}
	}
	return true
}

// podLevelResize checks a change of the resources that a pod has as a whole.
func (c *causes) podLevelResize(now, before document.Value) {
	if isSet(before) && !isSet(now) {
		c.Forbidden("spec.resources", "they cannot be removed from the pod")
		return
	}
	for _, list := range amountLists {
		if removed(now.Get(list), before.Get(list)) {
			c.Forbidden("spec.resources."+list, "they cannot be removed from the pod")
		}
	}
	if !sameOtherAmounts(now, before) || !document.Equal(now.Get("claims"), before.Get("claims")) {
		c.Forbidden("spec", onlyAmounts+" of a pod as a whole")
	}
}

// amountLists are the lists of amounts in resources.
var amountLists = [...]string{"requests", "limits"}

// removed reports whether some amount is not there any more.
func removed(now, before document.Value) bool {
	for name := range before.Members() {
		if !now.Get(name).Exists() {
			return true
		}
	}
	return false
}

// sameOtherAmounts reports whether resources differ in cpu and memory only.
func sameOtherAmounts(now, before document.Value) bool {
	for _, list := range amountLists {
		if !sameBut(now.Get(list), before.Get(list), "cpu", "memory") {
			return false
		}
	}
	return true
}

// sameOrder checks that a pod has the containers that it had.
func (c *causes) sameOrder(spec, was document.Value) bool {
	before := len(c.Causes)
	for _, list := range podContainers[:2] {
		now, then := spec.Get(list), was.Get(list)
		if now.Len() != then.Len() {
			c.Forbidden("spec."+list, list+" may not be added or removed on resize")
			continue
		}
		for i, container := range now.Elements() {
			if !document.Equal(container.Get("name"), then.Index(i).Get("name")) {
				c.Forbidden(element("spec."+list, i)+".name", list+" may not be renamed or reordered on resize")
			}
		}
	}
	return len(c.Causes) == before
}

// containersResize checks the changes of single containers.
func (p Policy) containersResize(c *causes, spec, was document.Value) {
	initToo := p.on("InPlacePodVerticalScalingInitContainers")
	for i, now := range spec.Get("initContainers").Elements() {
		if before := was.Get("initContainers").Index(i); initToo || isSidecar(before) {
			c.keepsAmounts(now, before)
		}
	}
	for i, now := range spec.Get("containers").Elements() {
		c.keepsAmounts(now, was.Get("containers").Index(i))
	}
	for i, now := range spec.Get("containers").Elements() {
		if before := was.Get("containers").Index(i); !p.resizeAllowed(now, before) {
			c.Forbidden("spec", onlyAmounts)
		}
	}
	for i, now := range spec.Get("initContainers").Elements() {
		before := was.Get("initContainers").Index(i)
		if document.Equal(now, before) {
			continue
		}
		if !isSidecar(now) && !initToo {
			c.Forbidden("spec", "resources of init containers that are not sidecars are immutable")
			continue
		}
		if !p.resizeAllowed(now, before) {
			c.Forbidden(now.Path(), onlyAmounts)
		}
		for _, policy := range before.Get("resizePolicy").Elements() {
			if !isSidecar(now) && policy.Get("restartPolicy").Equals("RestartContainer") {
				c.Forbidden(now.Path(), "an init container with the policy RestartContainer that is not a sidecar cannot be resized")
			}
		}
	}
}

// keepsAmounts checks that a container keeps all amounts that it named.
func (c *causes) keepsAmounts(now, before document.Value) {
	for _, list := range amountLists {
		if removed(now.At("resources", list), before.At("resources", list)) {
			c.Forbidden(member(now, "resources", list), "resource "+list+" cannot be removed")
		}
	}
}

// resizeAllowed reports whether a container differs in its cpu and memory only.
func (p Policy) resizeAllowed(now, before document.Value) bool {
	mutable := resizable[:1]
	if !p.since("1.33") {
		mutable = resizable
	}
	resources, was := now.Get("resources"), before.Get("resources")
	return sameBut(now, before, mutable...) && sameOtherAmounts(resources, was) && document.Equal(resources.Get("claims"), was.Get("claims"))
}
