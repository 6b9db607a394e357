package admission

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// containersOf visits the containers in the lists of a pod's spec, with their paths.
func containersOf(spec document.Value, lists ...string) iter.Seq[document.Value] {
	return func(yield func(document.Value) bool) {
		for _, list := range lists {
			for _, c := range spec.Get(list).Elements() {
				if !yield(c) {
					return
				}
			}
		}
	}
}

func given(v document.Value) bool { return v.Exists() && !v.IsNull() }

// denyContexts refuses pods that choose their users, groups or SELinux labels.
func (c *Chain) denyContexts(_ context.Context, r *Request) error {
	if !r.is("", "pods") {
		return nil
	}
	spec := r.Object.Get("spec")
	shown := map[string]string{"supplementalGroups": "SupplementalGroups", "seLinuxOptions": "SELinuxOptions", "runAsUser": "RunAsUser", "fsGroup": "FSGroup"}
	deny := func(of document.Value, prefix string, names ...string) error {
		for _, name := range names {
			if given(of.At("securityContext", name)) {
				return r.forbidf("%sSecurityContext.%s is forbidden", prefix, shown[name])
			}
		}
		return nil
	}
	if err := deny(spec, "pod.Spec.", "supplementalGroups", "seLinuxOptions", "runAsUser", "fsGroup"); err != nil {
		return err
	}
	for container := range containersOf(spec, "initContainers", "containers") {
		if err := deny(container, "", "seLinuxOptions", "runAsUser"); err != nil {
			return err
		}
	}
	return nil
}

const hostLabel = profile.LabelDomain + "/hostname"

// limitAntiAffinity refuses pods that keep others off more than their own node.
func (c *Chain) limitAntiAffinity(_ context.Context, r *Request) error {
	if !r.is("", "pods") {
		return nil
	}
	for _, term := range r.Object.At("spec", "affinity", "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution").Elements() {
		if key := term.Get("topologyKey").Text(); key != hostLabel {
			return r.forbidf("affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey %v but only key %v is allowed", key, hostLabel)
		}
	}
	return nil
}

var allContainers = []string{"initContainers", "containers", "ephemeralContainers"}

// pulls reports whether a write of a pod has images that it did not have before.
func pulls(r *Request) bool {
	if !r.is("", "pods") {
		return false
	}
	if r.Operation != Update {
		return true
	}
	var known []string
	for c := range containersOf(r.Old.Get("spec"), allContainers...) {
		known = append(known, c.Get("image").Text())
	}
	for c := range containersOf(r.Object.Get("spec"), allContainers...) {
		if !slices.Contains(known, c.Get("image").Text()) {
			return true
		}
	}
	return false
}

// pullImages has every image pulled, which proves the right to it.
func (c *Chain) pullImages(_ context.Context, r *Request) error {
	if pulls(r) {
		for container := range containersOf(r.Object.Get("spec"), allContainers...) {
			container.SetString("imagePullPolicy", "Always")
		}
	}
	return nil
}

// checkPulling refuses pods whose images are not pulled, whatever has changed them since.
func (c *Chain) checkPulling(_ context.Context, r *Request) error {
	if !pulls(r) {
		return nil
	}
	for container := range containersOf(r.Object.Get("spec"), allContainers...) {
		if policy := container.Get("imagePullPolicy"); !policy.Equals("Always") {
			return r.forbidf(`%s.imagePullPolicy: Unsupported value: %q: supported values: "Always"`, container.Path(), policy.Text())
		}
	}
	return nil
}

// tolerateExtended lets pods that ask for extended resources run on the nodes that are
// kept for those.
func (c *Chain) tolerateExtended(_ context.Context, r *Request) error {
	if !r.is("", "pods") {
		return nil
	}
	spec, names := r.Object.Get("spec"), []string(nil)
	for container := range containersOf(spec, "containers", "initContainers") {
		for name := range container.At("resources", "requests").Members() {
			if strings.Contains(name, "/") && !strings.Contains(name, profile.LabelDomain+"/") && !strings.HasPrefix(name, "requests.") {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		there := false
		for _, t := range spec.Get("tolerations").Elements() {
			there = there || readToleration(t) == toleration{Key: name, Operator: "Exists", Effect: "NoSchedule"}
		}
		if !there {
			toleration{Key: name, Operator: "Exists", Effect: "NoSchedule"}.append(spec)
		}
	}
	return nil
}

// denyExternalIPs refuses services that begin to use external addresses.
func (c *Chain) denyExternalIPs(_ context.Context, r *Request) error {
	if !r.is("", "services") {
		return nil
	}
	known := r.Old.At("spec", "externalIPs").Texts()
	for _, ip := range r.Object.At("spec", "externalIPs").Texts() {
		if !slices.Contains(known, ip) {
			return r.forbidf("Use of external IPs is denied by admission control")
		}
	}
	return nil
}

// denyAll refuses every write but the server's own.
func (c *Chain) denyAll(_ context.Context, r *Request) error {
	if r.User == nil {
		return nil
	}
	return r.forbidf("admission control is denying all modifications")
}

// Deprecated lists the plug-ins that are on and that 1.25 advises against.
func (c *Config) Deprecated() (names []string) {
	for _, name := range [...]string{"AlwaysAdmit", "AlwaysDeny"} {
		if c.on(find(name)) {
			names = append(names, name)
		}
	}
	return names
}
