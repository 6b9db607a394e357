package policy

import (
	"fmt"
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
	w.pod(p, template, template.At("metadata", "annotations"))
	if p.since("1.30") {
		w.appArmorOfTemplate(template)
	}
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

// pod warns about a pod or a template. seccomp are the annotations of a template.
func (w *warnings) pod(p Policy, of, seccomp document.Value) {
	spec := of.Get("spec")
	w.nodeLabels(spec.Get("nodeSelector"))
	if affinity := spec.At("affinity", "nodeAffinity"); affinity.Exists() {
		for _, term := range affinity.At("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms").Elements() {
			w.nodeTerm(term)
		}
		for _, term := range affinity.Get("preferredDuringSchedulingIgnoredDuringExecution").Elements() {
			w.nodeTerm(term.Get("preference"))
		}
	}
	for _, constraint := range spec.Get("topologySpreadConstraints").Elements() {
		w.nodeLabel(constraint.Get("topologyKey"))
	}
	if annotations := of.At("metadata", "annotations"); annotations.Len() > 0 {
		for _, old := range oldAnnotations {
			if annotations.Get(old.name).Exists() {
				w.add(key(annotations, old.name), old.text)
			}
		}
	}
	for _, volume := range spec.Get("volumes").Elements() {
		w.volumeSource(p, volume)
	}
	w.repeated(spec.Get("hostAliases"), "ip", "ip")
	secrets := spec.Get("imagePullSecrets")
	w.repeated(secrets, "name", "name")
	for _, secret := range secrets.Elements() {
		if secret.Get("name").Text() == "" {
			w.add(member(secret, "name"), `invalid empty name ""`)
		}
	}
	w.repeated(spec.Get("volumes"), "name", "name")
	w.wholeBytes(spec.Get("overhead"), "memory", "ephemeral-storage")
	w.seccomp(p, spec, seccomp, seccompOfPod)
	for container := range containersIn(spec, "initContainers", "containers", "ephemeralContainers") {
		if seccomp.Exists() {
			w.seccomp(p, container, seccomp, seccompOfContainer+container.Get("name").Text())
		}
		w.container(container)
	}
	if p.since("1.27") {
		w.laterPod(p, spec)
	}
}

// laterPod warns of what has been doubtful since 1.27.
func (w *warnings) laterPod(p Policy, spec document.Value) {
	if grace := spec.Get("terminationGracePeriodSeconds"); number(grace) < 0 {
		w.add(grace.Path(), "must be >= 0; negative values are invalid and will be treated as 1")
	}
	if p.since("1.28") {
		const nothing = "a null labelSelector results in matching no pod"
		for _, constraint := range spec.Get("topologySpreadConstraints").Elements() {
			if !isSet(constraint.Get("labelSelector")) {
				w.add(member(constraint, "labelSelector"), nothing)
			}
		}
		affinityTerms(spec, func(term document.Value) {
			if !isSet(term.Get("labelSelector")) {
				w.add(member(term, "labelSelector"), nothing)
			}
		})
	}
	if p.since("1.32") {
		w.overlappingFiles(spec.Get("volumes"))
	}
}

// container warns about one container.
func (w *warnings) container(container document.Value) {
	resources := container.Get("resources")
	for _, name := range [...]string{"memory", "ephemeral-storage"} {
		w.wholeBytes(resources.Get("limits"), name)
		w.wholeBytes(resources.Get("requests"), name)
	}
	w.repeated(container.Get("env"), "name", "name")
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

// WarnPod warns of deprecated or ineffective parts of a new pod. Updates come from
// controllers, and there are many.
func (p Policy) WarnPod(obj, old document.Value) []string {
	if old.Exists() {
		return nil
	}
	var w warnings
	if p.since("1.30") {
		w.appArmor(obj)
	}
	if name := obj.At("metadata", "name"); p.since("1.27") && len(document.CheckFormat("dns1123-label", name.Text())) > 0 {
		w.add("metadata.name", "this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: "+
			fmt.Sprint(document.CheckFormat("dns1123-label", name.Text())))
	}
	seccomp := document.Value{}
	if p.since("1.27") {
		seccomp = obj.At("metadata", "annotations") // which are not copied to fields any more
	}
	w.pod(p, obj, seccomp)
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

// WarnReplicationController is WarnPod for the pods of a controller. Its warnings
// begin at the template.
func (p Policy) WarnReplicationController(obj, old document.Value) []string {
	w := p.templateWarnings(obj, old)
	for i := range w {
		w[i] = strings.TrimPrefix(w[i], "spec.")
	}
	return w
}

// WarnReplicaSet is WarnPod for the pods of a replica set.
func (p Policy) WarnReplicaSet(obj, old document.Value) []string { return p.templateWarnings(obj, old) }

// WarnDeployment is WarnPod for the pods of a deployment.
func (p Policy) WarnDeployment(obj, old document.Value) []string { return p.templateWarnings(obj, old) }

// WarnDaemonSet is WarnPod for the pods of a daemon set.
func (p Policy) WarnDaemonSet(obj, old document.Value) []string { return p.templateWarnings(obj, old) }

// WarnJob is WarnPod for the pods of a job.
func (p Policy) WarnJob(obj, old document.Value) []string { return p.templateWarnings(obj, old) }

// WarnStatefulSet is WarnPod for the pods of a stateful set.
func (p Policy) WarnStatefulSet(obj, old document.Value) []string {
	return p.templateWarnings(obj, old)
}
