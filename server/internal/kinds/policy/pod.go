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
func (p Policy) DefaultPod(pod document.Value) {
	spec := pod.Get("spec")
	if !isSet(spec.Get("enableServiceLinks")) {
		spec.SetBool("enableServiceLinks", true)
	}
	for container := range containersIn(spec, podContainers[:2]...) {
		requestLimits(container)
	}
	if p.on("InPlacePodVerticalScaling") && !p.since("1.33") {
		resizePolicies(spec)
	}
	if p.on("PodLevelResources") {
		podLevelDefaults(spec)
	}
	if p.since("1.28") {
		hostPortDefaults(spec)
	}
	if p.since("1.27") && number(spec.Get("terminationGracePeriodSeconds")) < 0 {
		spec.SetInt("terminationGracePeriodSeconds", 1)
	}
}

// resizePolicies says of the cpu and the memory of each container whether a change restarts it, as releases did in which
// resizing was alpha.
func resizePolicies(spec document.Value) {
	for _, container := range spec.Get("containers").Elements() {
		resources, policies := container.Get("resources"), container.Get("resizePolicy")
		for _, name := range [...]string{"cpu", "memory"} {
			named := resources.At("requests", name).Exists() || resources.At("limits", name).Exists()
			if !named || policies.ElementBy("resourceName", name).Exists() {
				continue
			}
			policy := container.SetArray("resizePolicy").AppendObject()
			policy.SetString("resourceName", name)
			policy.SetString("restartPolicy", "NotRequired")
		}
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

// DefaultPodSpec keeps the two names of the service account equal, and until 1.27 fills in host ports, which later releases
// leave out of templates.
func (p Policy) DefaultPodSpec(spec document.Value) {
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
	if !p.since("1.28") || p.on("DefaultHostNetworkHostPortsInPodTemplates") {
		hostPortDefaults(spec)
	}
}

// hostPortDefaults gives containers in the host's network the host ports that they have anyway.
func hostPortDefaults(spec document.Value) {
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
func (p Policy) CreatePod(pod document.Value) {
	status, spec := pod.SetObject("status"), pod.Get("spec")
	status.SetString("phase", "Pending")
	status.SetString("qosClass", p.qosClass(spec))
	if !p.since("1.27") {
		seccompFields(pod)
	}
	if p.since("1.31") && !p.on("ImageVolume") {
		dropSourceless(spec)
	}
	p.gatedCondition(pod, status)
	p.mergeLabelKeys(pod)
	if p.on("AppArmorFields") {
		p.appArmorFields(pod)
	}
}

// UpdatePod keeps members that are decided once.
func (Policy) UpdatePod(pod, old document.Value) {
	keep(pod.Get("spec"), old.Get("spec"), "serviceAccount")
	if class := old.At("status", "qosClass"); class.Exists() {
		pod.SetObject("status").Put("qosClass", class)
	}
}

// dropSourceless takes volumes without a source away, and their mounts. Others than those that a gate has dropped have got one
// by default.
func dropSourceless(spec document.Value) {
	var names document.Texts
	volumes := spec.Get("volumes")
	volumes.RemoveFunc(func(volume document.Value) bool {
		if volume.Len() > 1 || !volume.Get("name").Exists() {
			return false
		}
		names.Add(volume.Get("name").Text())
		return true
	})
	if len(names) == 0 {
		return
	}
	removeEmpty(spec, "volumes")
	for container := range containersIn(spec, podContainers[:]...) {
		container.Get("volumeMounts").RemoveFunc(func(mount document.Value) bool { return names.Has(mount.Get("name").Text()) })
		removeEmpty(container, "volumeMounts")
	}
}

// removeEmpty removes a list without elements.
func removeEmpty(of document.Value, list string) {
	if of.Get(list).IsNothing() {
		of.Remove(list)
	}
}

// StatusPod keeps what a report about a pod may leave out: its class, and the generations that were observed.
func (p Policy) StatusPod(pod, old document.Value) {
	status, before := pod.SetObject("status"), old.Get("status")
	if class := before.Get("qosClass"); p.since("1.32") && isEmpty(status.Get("qosClass")) && class.Exists() {
		status.Put("qosClass", class)
	}
	if !p.since("1.33") {
		return
	}
	keepGeneration(status, before)
	taken := map[string]int{}
	for _, condition := range status.Get("conditions").Elements() {
		kind := condition.Get("type").Text()
		keepGeneration(condition, nthCondition(before.Get("conditions"), kind, taken[kind]))
		taken[kind]++
	}
}

// keepGeneration gives an observation the generation of the one before it, where it names none.
func keepGeneration(now, before document.Value) {
	if n := number(before.Get("observedGeneration")); n != 0 && number(now.Get("observedGeneration")) == 0 {
		now.SetInt("observedGeneration", n)
	}
}

// nthCondition is condition n of a type, from 0 on.
func nthCondition(conditions document.Value, kind string, n int) document.Value {
	for _, condition := range conditions.Elements() {
		if condition.Get("type").Equals(kind) {
			if n == 0 {
				return condition
			}
			n--
		}
	}
	return document.Value{}
}

// qosClass is the treatment of a pod when its node runs short: Guaranteed when every
// container limits cpu and memory and requests just that, BestEffort when none names any,
// Burstable otherwise.
func (p Policy) qosClass(spec document.Value) string {
	if resources := spec.Get("resources"); isSet(resources) && p.on("PodLevelResources") {
		return qosOf(resources)
	}
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
	return qosName(any, guaranteed)
}

// qosName is the class of a pod that names any resources, or none, and that is guaranteed them, or not.
func qosName(any, guaranteed bool) string {
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
func (p Policy) ValidatePod(pod, old document.Value) []schema.Cause {
	var c causes
	spec, annotations := pod.Get("spec"), pod.At("metadata", "annotations")
	if status := pod.Get("status"); old.Exists() && !document.Same(status, old.Get("status")) {
		p.podStatus(&c, pod, old, status)
	}
	if annotations.Len() > 0 {
		c.podAnnotations("metadata.annotations", annotations, spec)
	}
	if pod != old && document.Same(spec, old.Get("spec")) {
		c.fixedAnnotations(annotations, old.At("metadata", "annotations"))
		return c.Causes // the spec was checked when it was written
	}
	p.podOnly(&c, pod, spec)
	switch {
	case pod == old:
		return c.Causes
	case old.Exists():
		c.fixedAnnotations(annotations, old.At("metadata", "annotations"))
		p.podUpdate(&c, spec, old.Get("spec"), pod.Get("status"))
		return c.Causes
	}
	if node := spec.Get("nodeName"); !isEmpty(node) && !isEmpty(spec.Get("schedulingGates")) {
		c.Forbidden(node.Path(), "cannot be set until all schedulingGates have been cleared")
	}
	if p.on("AppArmorFields") {
		c.appArmorAgrees(annotations, spec)
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
func (p Policy) podOnly(c *causes, pod, spec document.Value) {
	for container := range containersIn(spec, podContainers[:]...) {
		c.imageName(container.Get("image"))
	}
	if isEmpty(spec.Get("serviceAccountName")) {
		c.forbidTokenVolumes(spec.Get("volumes"))
	}
	if p.since("1.27") && !isEmpty(spec.Get("ephemeralContainers")) && isStatic(pod) {
		c.Forbidden(nowhere, "static pods do not support ephemeral containers")
	}
	if p.since("1.31") {
		c.imageVolumes(spec.Get("volumes"))
	}
	if p.since("1.32") && !isEmpty(spec.Get("resourceClaims")) && isStatic(pod) {
		c.Forbidden(nowhere, "static pods do not support resource claims")
	}
	if name := pod.At("metadata", "name").Text(); name != "" {
		c.createdClaims(name, spec.Get("volumes"))
	}
}

// imageVolumes checks that the images of volumes are named.
func (c *causes) imageVolumes(volumes document.Value) {
	for _, volume := range volumes.Elements() {
		if source, image := volume.Chosen(); source == "image" && isEmpty(image.Get("reference")) {
			c.Required(member(image, "reference"), "")
		}
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
