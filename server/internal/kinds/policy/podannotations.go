package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Annotations of pods that are settings.
const (
	mirrorAnnotation = labelDomain + "/config.mirror"
	deletionCost     = "controller." + labelDomain + "/pod-deletion-cost"
	appArmor         = "container.apparmor.security.beta." + labelDomain + "/" // and the name of a container
)

// podAnnotations checks annotations of a pod, or of a template of pods, that are
// settings. at is the path in causes.
func (c *causes) podAnnotations(at string, annotations, spec document.Value) {
	for name, v := range annotations.Members() {
		text := v.Text()
		switch container, isProfile := strings.CutPrefix(name, appArmor); {
		case name == mirrorAnnotation && isEmpty(spec.Get("nodeName")):
			c.InvalidText(at+"["+name+"]", text, "must set spec.nodeName if mirror pod annotation is set")
		case name == deletionCost && !isDeletionCost(text):
			c.InvalidText(at+"["+name+"]", text, "must be a 32bit integer")
		case name == seccompOfPod, strings.HasPrefix(name, seccompOfContainer):
			c.seccompProfile(at+"."+name, text)
		case isProfile:
			if !hasContainer(spec, container) {
				c.InvalidText(at+"["+name+"]", container, "container not found")
			}
			if !isAppArmorProfile(text) {
				c.InvalidText(at+"["+name+"]", text, "not a profile: write runtime/default, unconfined, or localhost/ and a name")
			}
		}
	}
}

// isDeletionCost reports whether text is a number that fits, in its one form.
func isDeletionCost(text string) bool {
	n, err := strconv.ParseInt(text, 10, 32)
	return err == nil && (strconv.FormatInt(n, 10) == text || strings.HasPrefix(text, "-"))
}

func isAppArmorProfile(text string) bool {
	return text == "" || text == "runtime/default" || text == "unconfined" || strings.HasPrefix(text, "localhost/")
}

// seccompProfile checks a profile of an annotation.
func (c *causes) seccompProfile(field, profile string) {
	local, isLocal := strings.CutPrefix(profile, "localhost/")
	switch {
	case isLocal:
		c.FormatText(field, local, "relative-path")
	case profile != "runtime/default" && profile != "docker/default" && profile != "unconfined":
		c.InvalidText(field, profile, "must be a valid seccomp profile")
	}
}

func hasContainer(spec document.Value, name string) bool {
	for _, list := range podContainers {
		if spec.Get(list).ElementBy("name", name).Exists() {
			return true
		}
	}
	return false
}

// seccompFields makes the profiles that annotations of a new pod name those of its fields
// too, where these name none.
func seccompFields(pod document.Value) {
	annotations, spec := pod.At("metadata", "annotations"), pod.Get("spec")
	if annotations.Len() == 0 {
		return
	}
	sync := func(of document.Value, key string) {
		local, isLocal := strings.CutPrefix(annotations.Get(key).Text(), "localhost/")
		kind := map[string]string{"unconfined": "Unconfined", "runtime/default": "RuntimeDefault", "docker/default": "RuntimeDefault"}[annotations.Get(key).Text()]
		if isLocal && local != "" {
			kind = "Localhost"
		}
		if kind == "" || isSet(of.At("securityContext", "seccompProfile")) {
			return
		}
		profile := of.SetObject("securityContext").SetObject("seccompProfile")
		if profile.SetString("type", kind); isLocal {
			profile.SetString("localhostProfile", local)
		}
	}
	sync(spec, seccompOfPod)
	for container := range containersIn(spec, podContainers[:]...) {
		sync(container, seccompOfContainer+container.Get("name").Text())
	}
}

// seccompAgrees checks that annotations and fields name the same profiles where
// both do.
func (c *causes) seccompAgrees(annotations, spec document.Value) {
	if annotations.Len() == 0 {
		return
	}
	c.sameProfile(annotations, seccompOfPod, document.Value{}, spec)
	for container := range containersIn(spec, podContainers[:]...) {
		c.sameProfile(annotations, seccompOfContainer, container.Get("name"), container)
	}
}

// sameProfile checks that the annotation of that name agrees with the profile of a
// security context, of a pod or a container.
func (c *causes) sameProfile(annotations document.Value, prefix string, name, of document.Value) {
	profile := of.At("securityContext", "seccompProfile")
	if !isSet(profile) {
		return
	}
	annotation := annotations.Get(prefix + name.Text())
	if !annotation.Exists() {
		return
	}
	local, isLocal := strings.CutPrefix(annotation.Text(), "localhost/")
	agree := true
	switch profile.Get("type").Text() {
	case "Unconfined":
		agree = annotation.Equals("unconfined")
	case "RuntimeDefault":
		agree = annotation.Equals("runtime/default") || annotation.Equals("docker/default")
	case "Localhost":
		if agree = isLocal; agree && !profile.Get("localhostProfile").Equals(local) {
			c.Forbidden(member(profile, "localhostProfile"), "the seccomp profiles of annotation and field must match")
		}
	}
	if !agree {
		c.Forbidden(member(profile, "type"), "the seccomp types of annotation and field must match")
	}
}

// fixedAnnotations checks that settings that a running pod cannot change stay.
func (c *causes) fixedAnnotations(now, before document.Value) {
	if document.Equal(now, before) {
		return
	}
	isFixed := func(name string) bool { return name == mirrorAnnotation || strings.HasPrefix(name, appArmor) }
	for name, v := range before.Members() {
		if isFixed(name) && !document.Equal(v, now.Get(name)) {
			c.Forbidden("metadata.annotations["+name+"]", "may not be removed or updated")
		}
	}
	for name := range now.Members() {
		if isFixed(name) && !before.Get(name).Exists() {
			c.Forbidden("metadata.annotations["+name+"]", "may not be added")
		}
	}
}
