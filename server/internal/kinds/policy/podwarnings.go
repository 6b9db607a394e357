package policy

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// oldAnnotations of pods have no effect any more.
var oldAnnotations = [...]struct{ name, text string }{
	{"scheduler.alpha." + labelDomain + "/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
	{"security.alpha." + labelDomain + "/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	{"security.alpha." + labelDomain + "/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
}

// The annotations that named a seccomp profile before a field did: of a pod, and of one
// container, whose name follows.
const (
	seccompOfPod       = "seccomp.security.alpha." + labelDomain + "/pod"
	seccompOfContainer = "container.seccomp.security.alpha." + labelDomain + "/"
	seccompText        = `deprecated since v1.19, non-functional in a future release; use the "seccompProfile" field instead`
)

// template warns about the pods made from a template. In a pod the annotations of seccomp
// need no warning: there they are copied to the fields.
func (w *warnings) template(p Policy, template document.Value) {
	w.pod(p, template, template.At("metadata", "annotations"), true)
}

// seccomp warns of an annotation that has a field in the security context.
func (w *warnings) seccomp(p Policy, of, annotations document.Value, name string) {
	if !annotations.Get(name).Exists() || isSet(of.At("securityContext", "seccompProfile")) {
		return
	}
	text := seccompText
	if p.since("1.27") {
		text = `non-functional in v1.27+; use the "seccompProfile" field instead`
	}
	w.add(key(annotations, name), text)
}

// nullSelector warns of a selector that matches nothing since it is not set.
func (w *warnings) nullSelector(p Policy, of document.Value) {
	if p.since("1.28") && !isSet(of.Get("labelSelector")) {
		w.add(member(of, "labelSelector"), "a null labelSelector results in matching no pod")
	}
}

// placement warns of what decides about the node of a pod.
func (w *warnings) placement(p Policy, spec document.Value) {
	w.nodeLabels(spec.Get("nodeSelector"))
	if affinity := spec.At("affinity", "nodeAffinity"); affinity.Exists() {
		for _, term := range affinity.At("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Elements() {
			w.nodeTerm(term, false)
		}
		for _, term := range affinity.Get("preferredDuringSchedulingIgnoredDuringExecution").Elements() {
			w.nodeTerm(term.Get("preference"), p.since("1.33"))
		}
	}
	for _, constraint := range spec.Get("topologySpreadConstraints").Elements() {
		w.nodeLabel(constraint.Get("topologyKey"))
		w.nullSelector(p, constraint)
	}
}

// pod warns about a pod or a template. seccomp are the annotations of a template, and until 1.26 none of a pod.
func (w *warnings) pod(p Policy, of, seccomp document.Value, template bool) {
	spec, annotations := of.Get("spec"), of.At("metadata", "annotations")
	w.placement(p, spec)
	if annotations.Len() > 0 {
		for _, old := range oldAnnotations {
			if annotations.Get(old.name).Exists() {
				w.add(key(annotations, old.name), old.text)
			}
		}
	}
	w.volumes(p, spec.Get("volumes"))
	w.repeated(spec.Get("hostAliases"), "ip", "ip")
	secrets := spec.Get("imagePullSecrets")
	w.repeated(secrets, "name", "name")
	for _, secret := range secrets.Elements() {
		if secret.Get("name").Text() == "" {
			w.add(member(secret, "name"), `invalid empty name ""`)
		}
	}
	if !p.since("1.28") {
		w.repeated(spec.Get("volumes"), "name", "name")
	}
	w.wholeBytes(spec.Get("overhead"), "memory", "ephemeral-storage")
	w.seccomp(p, spec, seccomp, seccompOfPod)
	for container := range containersIn(spec, "initContainers", "containers", "ephemeralContainers") {
		if seccomp.Exists() {
			w.seccomp(p, container, seccomp, seccompOfContainer+container.Get("name").Text())
		}
		if template && p.on("AppArmorFields") {
			w.appArmorOfTemplate(p, container, annotations, spec.At("securityContext", profileMember))
		}
		w.container(p, container)
	}
	if p.since("1.27") {
		w.laterPod(p, spec)
	}
}

// volumes warns of sources that are deprecated, of claims that are made for the pod, and of files that hide each other.
func (w *warnings) volumes(p Policy, volumes document.Value) {
	for _, volume := range volumes.Elements() {
		w.volumeSource(p, volume)
		if claim := volume.At("ephemeral", "volumeClaimTemplate", "spec"); p.since("1.26") && isSet(claim) {
			w.claimSpec(claim.Path(), claim)
		}
	}
	if p.since("1.32") {
		w.overlappingFiles(p, volumes)
	}
}

// claimSpec warns of fractional bytes that a claim asks for. at is its path.
func (w *warnings) claimSpec(at string, claim document.Value) {
	for _, list := range [...]string{"requests", "limits"} {
		if size := claim.At("resources", list, "storage"); !isWhole(size) {
			w.add(at+".resources."+list+"[storage]", "fractional byte value "+strconv.Quote(amount(size).String())+" is invalid, must be an integer")
		}
	}
}

// laterPod warns of what has been doubtful since 1.27.
func (w *warnings) laterPod(p Policy, spec document.Value) {
	if p.since("1.28") {
		w.sharedPorts(spec)
	}
	if p.since("1.33") {
		w.portNames(spec)
	}
	if grace := spec.Get("terminationGracePeriodSeconds"); number(grace) < 0 {
		w.add(grace.Path(), "must be >= 0; negative values are invalid and will be treated as 1")
	}
	affinityTerms(spec, func(term document.Value) { w.nullSelector(p, term) })
	if p.since("1.33") {
		p.addresses(w, spec.At("dnsConfig", "nameservers"))
		for _, alias := range spec.Get("hostAliases").Elements() {
			p.address(w, alias.Get("ip"))
		}
	}
}

// container warns about one container.
func (w *warnings) container(p Policy, container document.Value) {
	resources := container.Get("resources")
	for _, name := range [...]string{"memory", "ephemeral-storage"} {
		w.wholeBytes(resources.Get("limits"), name)
		w.wholeBytes(resources.Get("requests"), name)
	}
	if !p.since("1.28") {
		w.repeated(container.Get("env"), "name", "name")
		return
	}
	w.hiddenVariables(p, container.Get("env"))
}

// hiddenVariables warns of variables that replace an earlier one, and do not refer to it as a part of theirs.
func (w *warnings) hiddenVariables(p Policy, list document.Value) {
	if !document.MayRepeat(list, []string{"name"}) {
		return
	}
	text := "hides previous definition of "
	var seen document.Texts
	for i, env := range list.Elements() {
		name, value := env.Get("name").Text(), env.Get("value").Text()
		earlier := "$(" + name + ")"
		if seen.Add(name) || !isSet(env.Get("valueFrom")) && value != earlier && strings.Contains(value, earlier) {
			continue
		}
		said := text + strconv.Quote(name)
		if p.since("1.30") {
			said += ", which may be dropped when using apply"
		}
		w.add(element(list.Path(), i), said)
	}
}

// templateWarnings warns about the template of a controller, when it is new or changed.
func (p Policy) templateWarnings(obj, old document.Value) []string {
	if !touched(obj, old) {
		return nil
	}
	var w warnings
	w.template(p, obj.At("spec", "template"))
	return w
}

// nameOfPods warns, from 1.27 on, of a new object whose name becomes a part of host names, and may not be one.
func (w *warnings) nameOfPods(p Policy, obj document.Value, use string) {
	if problems := document.CheckFormat("dns1123-label", obj.At("metadata", "name").Text()); p.since("1.27") && len(problems) > 0 {
		w.add("metadata.name", fmt.Sprintf("this is used in %s, which can result in surprising behavior; a DNS label is recommended: %v", use, problems))
	}
}

// WarnPod warns of deprecated or ineffective parts of a new pod. Updates come from
// controllers, and there are many: of them it warns of odd addresses in a report only.
func (p Policy) WarnPod(obj, old document.Value) []string {
	var w warnings
	if old.Exists() {
		if status := obj.Get("status"); p.since("1.33") && !document.Same(status, old.Get("status")) {
			for _, list := range [...]string{"podIPs", "hostIPs"} {
				for _, address := range status.Get(list).Elements() {
					p.address(&w, address.Get("ip"))
				}
			}
		}
		return w
	}
	if p.since("1.30") {
		w.appArmor(obj)
	}
	w.nameOfPods(p, obj, "the Pod's hostname")
	seccomp := document.Value{}
	if p.since("1.27") {
		seccomp = obj.At("metadata", "annotations") // which are not copied to fields any more
	}
	w.pod(p, obj, seccomp, false)
	return w
}

// WarnPodTemplate is WarnPod for the pods of a stored template.
func (p Policy) WarnPodTemplate(obj, old document.Value) []string {
	var w warnings
	if !touched(obj, old) {
		return w
	}
	w.template(p, obj.Get("template"))
	return w
}

// WarnReplicationController is WarnPod for the pods of a controller. Until 1.26 its warnings begin at the template. Those of an update
// are about the template before it, as in Kubernetes.
func (p Policy) WarnReplicationController(obj, old document.Value) []string {
	if p.since("1.27") {
		if !touched(obj, old) || !old.Exists() {
			return p.namedWarnings(obj, old)
		}
		var w warnings
		w.template(p, old.At("spec", "template"))
		return w
	}
	w := p.templateWarnings(obj, old)
	for i := range w {
		w[i] = strings.TrimPrefix(w[i], "spec.")
	}
	return w
}

// namedWarnings warns of a controller whose name begins those of its pods.
func (p Policy) namedWarnings(obj, old document.Value) []string {
	var w warnings
	if !old.Exists() {
		w.nameOfPods(p, obj, "Pod names and hostnames")
	}
	return append(w, p.templateWarnings(obj, old)...)
}

// WarnReplicaSet is WarnPod for the pods of a replica set.
func (p Policy) WarnReplicaSet(obj, old document.Value) []string { return p.namedWarnings(obj, old) }

// WarnDeployment is WarnPod for the pods of a deployment.
func (p Policy) WarnDeployment(obj, old document.Value) []string { return p.namedWarnings(obj, old) }

// WarnDaemonSet is WarnPod for the pods of a daemon set.
func (p Policy) WarnDaemonSet(obj, old document.Value) []string { return p.templateWarnings(obj, old) }

// WarnJob is WarnPod for the pods of a job.
func (p Policy) WarnJob(obj, old document.Value) []string { return p.namedWarnings(obj, old) }

// WarnStatefulSet is WarnPod for the pods of a stateful set, and warns of its claims, in updates by another path.
func (p Policy) WarnStatefulSet(obj, old document.Value) []string {
	w := warnings(p.templateWarnings(obj, old))
	spec := obj.Get("spec")
	if claims := spec.Get("volumeClaimTemplates"); p.since("1.26") {
		for i, claim := range claims.Elements() {
			at := element(claims.Path(), i)
			if old.Exists() {
				at += ".Spec"
			}
			w.claimSpec(at, claim.Get("spec"))
		}
	}
	if limit := spec.Get("revisionHistoryLimit"); p.since("1.33") && number(limit) < 0 {
		w.add(limit.Path(), "a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return w
}
