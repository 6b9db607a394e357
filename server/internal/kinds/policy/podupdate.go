package policy

import (
	"iter"
	"math"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
)

// podMutable are the members of a pod's spec that an update may change, each in
// its own way.
var podMutable = []string{"containers", "initContainers", "activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds"}

const podImmutable = "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, " +
	"`spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or " +
	"`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"

// podUpdate checks that only images, deadlines and tolerations change. The status is that of the pod.
func (p Policy) podUpdate(c *causes, spec, old, status document.Value) {
	for _, list := range podContainers[:2] {
		if spec.Get(list).Len() != old.Get(list).Len() {
			c.Forbidden(member(spec, list), "pod updates may not add or remove containers")
			return
		}
		for _, container := range spec.Get(list).Elements() { // once more, as in 1.25 for updates
			if image := container.Get("image"); isEmpty(image) {
				c.Required(member(container, "image"), "")
			} else {
				c.imageName(image)
			}
		}
	}
	deadline, before := spec.Get("activeDeadlineSeconds"), old.Get("activeDeadlineSeconds")
	switch n := number(deadline); {
	case isSet(deadline) && (n < 0 || n > math.MaxInt32):
		c.Invalid(deadline, "must be between 0 and 2147483647, inclusive")
		return
	case !isSet(before):
	case !isSet(deadline):
		c.InvalidAt(member(spec, "activeDeadlineSeconds"), deadline, "must not update from a positive integer to nil value")
	case n > number(before):
		c.Invalid(deadline, "must be less than or equal to previous value")
		return
	}
	c.keptTolerations(spec, old)
	mutable := podMutable
	if p.since("1.26") {
		c.keptGates(spec, old)
		p.keptClass(c, spec, old, status.Get("qosClass").Text())
		mutable = append(slices.Clip(mutable), p.gatedUpdate(c, spec, old)...)
	}
	if !sameBut(spec, old, mutable...) || !p.sameContainers(spec, old) || !graceMayChange(spec, old) {
		c.Forbidden(spec.Path(), podImmutable)
	}
}

// keptClass checks that a pod keeps its class, which the status names, in the releases that looked at it before resources had
// a subresource of their own.
func (p Policy) keptClass(c *causes, spec, old document.Value, class string) {
	if p.since("1.32") || !p.since("1.29") && !p.on("InPlacePodVerticalScaling") {
		return
	}
	was := class
	if was == "" {
		was = p.qosClass(old)
	}
	if p.qosClass(spec) != was {
		c.InvalidText("metadata", class, "Pod QoS is immutable")
	}
}

// keptTolerations checks that a pod keeps its tolerations.
func (c *causes) keptTolerations(spec, old document.Value) {
	if document.Same(spec.Get("tolerations"), old.Get("tolerations")) {
		return
	}
	var borne document.Texts
	for _, t := range spec.Get("tolerations").Elements() {
		borne.Add(toleration(t))
	}
	for _, t := range old.Get("tolerations").Elements() {
		if !borne.Has(toleration(t)) {
			c.Forbidden(member(spec, "tolerations"), "existing toleration can not be modified except its tolerationSeconds")
			return
		}
	}
	c.Causes = append(c.Causes, document.Validate(spec.Get("tolerations"), nil)...)
}

// sameContainers reports whether containers differ in their images only, or, as long as resizing was alpha and had no
// subresource, in their cpu and memory.
func (p Policy) sameContainers(spec, old document.Value) bool {
	mutable := []string{"image"}
	if p.on("InPlacePodVerticalScaling") && !p.since("1.32") {
		mutable = append(mutable, resizable...)
	}
	for _, list := range podContainers[:2] {
		now, before := spec.Get(list), old.Get(list)
		if document.Equal(now, before) {
			continue
		}
		next, stop := iter.Pull2(before.Elements())
		defer stop()
		for _, container := range now.Elements() {
			if _, was, _ := next(); !sameBut(container, was, mutable...) || len(mutable) > 1 && !sameOtherAmounts(container.Get("resources"), was.Get("resources")) {
				return false
			}
		}
	}
	return true
}

func graceMayChange(spec, old document.Value) bool {
	now, before := spec.Get("terminationGracePeriodSeconds"), old.Get("terminationGracePeriodSeconds")
	return document.Equal(now, before) || number(before) < 0 && number(now) == 1
}

// toleration is the tolerated taint, as text; without the duration.
func toleration(t document.Value) string {
	text := ""
	for _, name := range [...]string{"key", "operator", "value", "effect"} {
		text += t.Get(name).Text() + "\x00"
	}
	return text
}
