package policy

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// podContainers are the lists of containers of a pod.
var podContainers = []string{"initContainers", "containers", "ephemeralContainers"}

// DefaultPod sets what depends on the pod as a whole.
func (Policy) DefaultPod(pod document.Value) {
	spec := pod.Get("spec")
	if !spec.Get("enableServiceLinks").Exists() {
		spec.SetBool("enableServiceLinks", true)
	}
	for _, list := range podContainers[:2] {
		for _, c := range spec.Get(list).Elements() {
			requestsFromLimits(c)
		}
	}
}

// CreatePod begins the pod's life.
func (Policy) CreatePod(pod document.Value) {
	spec := pod.Get("spec")
	if name := spec.Get("serviceAccountName").Text(); name != "" {
		spec.SetString("serviceAccount", name)
	}
	spec.Remove("ephemeralContainers")
	status := pod.SetObject("status")
	status.SetString("phase", "Pending")
	status.SetString("qosClass", qosClass(spec))
}

// UpdatePod keeps what only the server may change.
func (Policy) UpdatePod(pod, old document.Value) {
	keep(pod.Get("spec"), old.Get("spec"), "serviceAccount")
	if class := old.At("status", "qosClass"); class.Exists() {
		pod.SetObject("status").Put("qosClass", class)
	}
}

// qosClass says how a pod is treated when its node runs short: Guaranteed when
// every container limits cpu and memory and requests just that, BestEffort when
// none names any, Burstable otherwise.
func qosClass(spec document.Value) string {
	guaranteed, any := true, false
	for _, list := range podContainers[:2] {
		for _, c := range spec.Get(list).Elements() {
			requests, limits := c.At("resources", "requests"), c.At("resources", "limits")
			for _, name := range []string{"cpu", "memory"} {
				request, limit := amount(requests.Get(name)), amount(limits.Get(name))
				any = any || !request.IsZero() || !limit.IsZero()
				if limit.IsZero() || !request.IsZero() && request.Cmp(limit) != 0 {
					guaranteed = false
				}
			}
		}
	}
	switch {
	case !any:
		return "BestEffort"
	case guaranteed:
		return "Guaranteed"
	}
	return "Burstable"
}

func amount(v document.Value) resource.Quantity {
	q, err := resource.ParseQuantity(v.Text())
	if err != nil {
		return resource.Quantity{}
	}
	return q
}

// ValidatePod checks what spans several fields of a pod, and that an update
// changes only what may change.
func (Policy) ValidatePod(pod, old document.Value) []schema.Cause {
	var c causes
	spec := pod.Get("spec")
	c.podSpec("spec", spec)
	if old.Exists() {
		c.podUpdate(spec, old.Get("spec"))
	}
	return c
}

// podSpec checks the spec of a pod, or of a template.
func (c *causes) podSpec(path string, spec document.Value) {
	if spec.Get("containers").Len() == 0 {
		c.required(path+".containers", "")
	}
	volumes := map[string]bool{}
	for i, v := range spec.Get("volumes").Elements() {
		name := v.Get("name").Text()
		field := index(path+".volumes", i)
		if volumes[name] {
			c.add(schema.CauseDuplicate, field+".name", "Duplicate value: "+show(v.Get("name")))
		}
		volumes[name] = true
		if v.Len() > 2 {
			c.forbidden(field, "may not specify more than 1 volume type")
		}
	}
	names := map[string]bool{}
	for _, list := range podContainers {
		for i, container := range spec.Get(list).Elements() {
			c.container(index(path+"."+list, i), container, names, volumes)
		}
	}
}

func (c *causes) container(field string, container document.Value, names, volumes map[string]bool) {
	name := container.Get("name").Text()
	if names[name] && name != "" {
		c.add(schema.CauseDuplicate, field+".name", "Duplicate value: "+show(container.Get("name")))
	}
	names[name] = true
	if container.Get("image").Text() == "" {
		c.required(field+".image", "")
	}
	mounts := map[string]bool{}
	for i, m := range container.Get("volumeMounts").Elements() {
		mount := index(field+".volumeMounts", i)
		if v := m.Get("name"); v.Text() != "" && !volumes[v.Text()] {
			c.add(schema.CauseNotFound, mount+".name", "Not found: "+show(v))
		}
		path := m.Get("mountPath")
		if mounts[path.Text()] && path.Text() != "" {
			c.invalid(mount+".mountPath", path, "must be unique")
		}
		mounts[path.Text()] = true
	}
	requests, limits := container.At("resources", "requests"), container.At("resources", "limits")
	for name, request := range requests.Members() {
		limit := limits.Get(name)
		if a, b := amount(request), amount(limit); limit.Exists() && a.Cmp(b) > 0 {
			c.invalid(field+".resources.requests", request, "must be less than or equal to "+name+" limit of "+limit.Text())
		}
	}
}

// podMutable are the members of a pod's spec that an update may change, each in
// its own way.
var podMutable = map[string]bool{"containers": true, "initContainers": true, "activeDeadlineSeconds": true,
	"tolerations": true, "terminationGracePeriodSeconds": true}

// podUpdate checks that only images, deadlines and tolerations change.
func (c *causes) podUpdate(spec, old document.Value) {
	for _, list := range podContainers[:2] {
		if a, b := spec.Get(list).Len(), old.Get(list).Len(); a != b {
			c.forbidden("spec."+list, "pod updates may not add or remove containers")
			return
		}
	}
	if !sameButMutable(spec, old) || !sameContainers(spec, old) {
		c.forbidden("spec", "pod updates may not change fields other than `spec.containers[*].image`, `spec.initContainers[*].image`, `spec.activeDeadlineSeconds`, `spec.tolerations` (only additions to existing tolerations) or `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)")
	}
	was, had := old.Get("activeDeadlineSeconds").Int()
	is, has := spec.Get("activeDeadlineSeconds").Int()
	if had && (!has || is > was) {
		c.invalid("spec.activeDeadlineSeconds", spec.Get("activeDeadlineSeconds"), "must be less than or equal to previous value, and may not be unset")
	}
	for _, t := range old.Get("tolerations").Elements() {
		if !tolerated(spec.Get("tolerations"), t) {
			c.forbidden("spec.tolerations", "existing toleration can not be modified except its tolerationSeconds")
			break
		}
	}
	grace, _ := spec.Get("terminationGracePeriodSeconds").Int()
	before, _ := old.Get("terminationGracePeriodSeconds").Int()
	if grace != before && !(before < 0 && grace == 1) {
		c.forbidden("spec", "spec.terminationGracePeriodSeconds may only be set to 1 when it was negative")
	}
}

func sameButMutable(spec, old document.Value) bool {
	for name, v := range spec.Members() {
		if !podMutable[name] && !same(v, old.Get(name)) {
			return false
		}
	}
	for name := range old.Members() {
		if !podMutable[name] && !spec.Get(name).Exists() {
			return false
		}
	}
	return true
}

// sameContainers reports whether containers differ in their images only.
func sameContainers(spec, old document.Value) bool {
	for _, list := range podContainers[:2] {
		for i, c := range spec.Get(list).Elements() {
			before := old.Get(list).Index(i)
			for name, v := range c.Members() {
				if name != "image" && !same(v, before.Get(name)) {
					return false
				}
			}
			if c.Len() != before.Len() {
				return false
			}
		}
	}
	return true
}

// tolerated reports whether a toleration is in the list, its seconds aside.
func tolerated(list, want document.Value) bool {
	for _, t := range list.Elements() {
		equal := true
		for _, name := range []string{"key", "operator", "value", "effect"} {
			equal = equal && same(t.Get(name), want.Get(name))
		}
		if equal {
			return true
		}
	}
	return false
}
