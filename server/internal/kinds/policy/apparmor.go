package policy

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Profiles of AppArmor have a field from 1.30 on. Before it an annotation named that of each container.

const profileMember = "appArmorProfile"

// appArmorFields gives the containers of a new pod the profiles that only annotations name, and until 1.33 annotations the
// profiles that only fields name, for nodes that know no fields.
func (p Policy) appArmorFields(pod document.Value) {
	spec := pod.Get("spec")
	if spec.At("os", "name").Equals("windows") {
		return
	}
	ofPod := spec.At("securityContext", profileMember)
	for container := range containersIn(spec, podContainers[:]...) {
		annotations := pod.At("metadata", "annotations")
		name := appArmor + container.Get("name").Text()
		annotation, own := annotations.Get(name), container.At("securityContext", profileMember)
		switch {
		case annotation.Exists() && !isSet(own):
			setProfile(container, annotation.Text(), ofPod)
		case !annotation.Exists() && !p.since("1.34"):
			if !isSet(own) {
				own = ofPod
			}
			if text := profileText(own); text != "" {
				pod.SetObject("metadata").SetObject("annotations").SetString(name, text)
			}
		}
	}
}

// readProfile reads the profile of an annotation. ok is false for text that names none.
func readProfile(text string) (kind, local string, ok bool) {
	switch text {
	case "unconfined":
		return "Unconfined", "", true
	case "runtime/default":
		return "RuntimeDefault", "", true
	}
	local, ok = strings.CutPrefix(text, "localhost/")
	return "Localhost", local, ok && local != "" && strings.TrimSpace(local) == local
}

// setProfile gives a container the profile of an annotation, unless the pod gives it the same.
func setProfile(container document.Value, text string, ofPod document.Value) {
	kind, local, ok := readProfile(text)
	if !ok || ofPod.Get("type").Equals(kind) && ofPod.Get("localhostProfile").Text() == local {
		return
	}
	context := container.SetObject("securityContext")
	profile := context.SetObject(profileMember)
	if profile.SetString("type", kind); local != "" {
		profile.SetString("localhostProfile", local)
	}
	context.Assume(profileMember, profile)
}

// profileText is a profile as an annotation names it; "" for none.
func profileText(profile document.Value) string {
	switch profile.Get("type").Text() {
	case "Unconfined":
		return "unconfined"
	case "RuntimeDefault":
		return "runtime/default"
	case "Localhost":
		if local := profile.Get("localhostProfile").Text(); local != "" {
			return "localhost/" + local
		}
	}
	return ""
}

// appArmorAgrees checks that annotations and fields name the same profiles where both do.
func (c *causes) appArmorAgrees(annotations, spec document.Value) {
	if annotations.Len() == 0 || spec.At("os", "name").Equals("windows") {
		return
	}
	for container := range containersIn(spec, podContainers[:]...) {
		annotation := annotations.Get(appArmor + container.Get("name").Text())
		profile := container.At("securityContext", profileMember)
		if !isSet(profile) {
			profile = spec.At("securityContext", profileMember)
		}
		if !annotation.Exists() || !isSet(profile) {
			continue
		}
		path := member(container, "securityContext", profileMember)
		local, isLocal := strings.CutPrefix(annotation.Text(), "localhost/")
		switch profile.Get("type").Text() {
		case "Unconfined", "RuntimeDefault":
			if profileText(profile) != annotation.Text() {
				c.Forbidden(path+".type", "the AppArmor types of annotation and field must match")
			}
		case "Localhost":
			if !isLocal {
				c.Forbidden(path+".type", "the AppArmor types of annotation and field must match")
			} else if !profile.Get("localhostProfile").Equals(local) {
				c.Forbidden(path+".localhostProfile", "the AppArmor profiles of annotation and field must match")
			}
		}
	}
}

// appArmorOfTemplate warns of an annotation for a container that has no such field, until 1.33 unless the pod has one, and later unless
// the pod has the same profile.
func (w *warnings) appArmorOfTemplate(p Policy, container, annotations, ofPod document.Value) {
	name := appArmor + container.Get("name").Text()
	annotation := annotations.Get(name)
	if !annotation.Exists() || isSet(container.At("securityContext", profileMember)) {
		return
	}
	if isSet(ofPod) && (!p.since("1.34") || profileText(ofPod) == annotation.Text()) {
		return
	}
	w.add(key(annotations, name), appArmorText)
}

const appArmorText = `deprecated since v1.30; use the "appArmorProfile" field instead`

// appArmor warns of annotations of a new pod that were not repeated as fields.
func (w *warnings) appArmor(pod document.Value) {
	annotations, spec := pod.At("metadata", "annotations"), pod.Get("spec")
	if annotations.Len() == 0 || spec.At("os", "name").Equals("windows") {
		return
	}
	for container := range containersIn(spec, podContainers[:]...) {
		name := appArmor + container.Get("name").Text()
		annotation, profile := annotations.Get(name), container.At("securityContext", profileMember)
		if !annotation.Exists() || isSet(profile) && !profile.Assumed() {
			continue
		}
		if _, _, ok := readProfile(annotation.Text()); isSet(profile) || !ok {
			w.add(key(annotations, name), appArmorText)
		}
	}
}
