package policy

import (
	"iter"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// podContainers are the lists of containers of a pod, in the order in which
// their names are claimed.
var podContainers = [...]string{"containers", "initContainers", "ephemeralContainers"}

// containersIn visits the containers of some lists of a pod.
func containersIn(spec document.Value, lists ...string) iter.Seq[document.Value] {
	return func(yield func(document.Value) bool) {
		for _, list := range lists {
			for _, container := range spec.Get(list).Elements() {
				if !yield(container) {
					return
				}
			}
		}
	}
}

// DefaultPod sets members that templates leave open, because they are decided when a pod
// is created.
func (Policy) DefaultPod(pod document.Value) {
	spec := pod.Get("spec")
	if !isSet(spec.Get("enableServiceLinks")) {
		spec.SetBool("enableServiceLinks", true)
	}
	for container := range containersIn(spec, podContainers[:2]...) {
		requestLimits(container)
	}
}

// requestLimits sets missing requests to the limits.
func requestLimits(container document.Value) {
	limits := container.At("resources", "limits")
	if isEmpty(limits) {
		return
	}
	requests := container.Get("resources").SetObject("requests")
	for name, amount := range limits.Members() {
		if !requests.Get(name).Exists() {
			requests.Put(name, amount)
		}
	}
}

// DefaultPodSpec keeps the two names of the service account equal, and gives containers
// in the host's network the host ports that they have anyway.
func (Policy) DefaultPodSpec(spec document.Value) {
	account := spec.Get("serviceAccountName")
	if isEmpty(account) {
		account = spec.Get("serviceAccount")
	}
	if isEmpty(account) {
		spec.Remove("serviceAccount")
	} else {
		name := account.Text()
		spec.SetString("serviceAccountName", name)
		spec.SetString("serviceAccount", name)
	}
	if !spec.Get("hostNetwork").Bool() {
		return
	}
	for container := range containersIn(spec, podContainers[:2]...) {
		for _, port := range container.Get("ports").Elements() {
			if n := number(port.Get("containerPort")); n != 0 && number(port.Get("hostPort")) == 0 {
				port.SetInt("hostPort", n)
			}
		}
	}
}

// DefaultPodStatus keeps the address and the list of addresses of a pod equal. Where they
// differ the single one counts: old agents know no other.
func (Policy) DefaultPodStatus(status document.Value) {
	first := status.Get("podIPs").Index(0).Get("ip")
	agree(status, "podIP", "podIPs", first, func(list document.Value, ip string) { list.AppendObject().SetString("ip", ip) })
}

// agree gives a member and a list, whose first text is first, the same value: that of the
// member, where it has one.
func agree(of document.Value, member, list string, first document.Value, add func(list document.Value, text string)) {
	switch text := of.Get(member).Text(); {
	case text == "" && !isEmpty(first):
		of.SetString(member, first.Text())
	case text != "" && !first.Equals(text):
		of.Remove(list)
		add(of.SetArray(list), text)
	}
}

// CreatePod initialises a pod.
func (Policy) CreatePod(pod document.Value) {
	status := pod.SetObject("status")
	status.SetString("phase", "Pending")
	status.SetString("qosClass", qosClass(pod.Get("spec")))
	seccompFields(pod)
}

// UpdatePod keeps members that are decided once.
func (Policy) UpdatePod(pod, old document.Value) {
	keep(pod.Get("spec"), old.Get("spec"), "serviceAccount")
	if class := old.At("status", "qosClass"); class.Exists() {
		pod.SetObject("status").Put("qosClass", class)
	}
}

// qosClass is the treatment of a pod when its node runs short: Guaranteed when every
// container limits cpu and memory and requests just that, BestEffort when none names any,
// Burstable otherwise.
func qosClass(spec document.Value) string {
	guaranteed, any := true, false
	for container := range containersIn(spec, podContainers[:2]...) {
		requests, limits := container.At("resources", "requests"), container.At("resources", "limits")
		for _, name := range [...]string{"cpu", "memory"} {
			request, limit := requests.Get(name), limits.Get(name)
			limited := !isZero(limit)
			any = any || limited || !isZero(request)
			if !limited || request.Exists() && compare(request, limit) != 0 {
				guaranteed = false
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

// ValidatePod checks rules across several fields of a pod, and that an update changes
// only mutable fields.
func (Policy) ValidatePod(pod, old document.Value) []schema.Cause {
	var c causes
	spec, annotations := pod.Get("spec"), pod.At("metadata", "annotations")
	if status := pod.Get("status"); old.Exists() && !document.Same(status, old.Get("status")) {
		c.podStatus(pod, status, old.Get("status"))
	}
	if annotations.Len() > 0 {
		c.podAnnotations("metadata.annotations", annotations, spec)
	}
	if pod != old && document.Same(spec, old.Get("spec")) {
		c.fixedAnnotations(annotations, old.At("metadata", "annotations"))
		return c.Causes // the spec was checked when it was written
	}
	c.podOnly(pod, spec)
	switch {
	case pod == old:
		return c.Causes
	case old.Exists():
		c.fixedAnnotations(annotations, old.At("metadata", "annotations"))
		c.podUpdate(spec, old.Get("spec"))
		return c.Causes
	}
	if !isEmpty(spec.Get("ephemeralContainers")) {
		c.Forbidden(member(spec, "ephemeralContainers"), "cannot be set on create")
	}
	c.seccompAgrees(annotations, spec)
	return c.Causes
}

// imageName checks the rules for images of pods only.
func (c *causes) imageName(image document.Value) {
	if text := image.Text(); strings.TrimSpace(text) != text {
		c.Invalid(image, "must not have leading or trailing whitespace")
	}
}

// forbidTokenVolumes refuses tokens in volumes of a pod without a service account.
func (c *causes) forbidTokenVolumes(volumes document.Value) {
	for _, volume := range volumes.Elements() {
		for _, source := range volume.At("projected", "sources").Elements() {
			if token := source.Get("serviceAccountToken"); isSet(token) {
				c.Forbidden(token.Path(), "must not be specified when serviceAccountName is not set")
			}
		}
	}
}

// podOnly checks rules for pods that templates of pods do not have.
func (c *causes) podOnly(pod, spec document.Value) {
	for container := range containersIn(spec, podContainers[:]...) {
		c.imageName(container.Get("image"))
	}
	if isEmpty(spec.Get("serviceAccountName")) {
		c.forbidTokenVolumes(spec.Get("volumes"))
	}
	if name := pod.At("metadata", "name").Text(); name != "" {
		c.createdClaims(name, spec.Get("volumes"))
	}
}

// createdClaims checks the names of the claims that are created for a pod, and that it
// does not also use them as existing ones.
func (c *causes) createdClaims(pod string, volumes document.Value) {
	var created document.Texts
	for _, volume := range volumes.Elements() {
		if !volume.Get("ephemeral").Exists() || isEmpty(volume.Get("name")) {
			continue
		}
		claim := pod + "-" + volume.Get("name").Text()
		created.Add(claim)
		for _, problem := range document.CheckFormat("dns1123-subdomain", claim) {
			c.Invalid(volume.Get("name"), "claim name \""+claim+"\": "+problem)
		}
	}
	if created == nil {
		return
	}
	for _, volume := range volumes.Elements() {
		if claim := volume.At("persistentVolumeClaim", "claimName"); created.Has(claim.Text()) {
			c.Invalid(claim, "must not reference a claim that is created for an ephemeral volume")
		}
	}
}
