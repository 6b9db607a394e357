package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// warnings are what the author of a valid object should know, in the order of
// 1.25. The first part of each is the path of the field that it is about.
type warnings []string

func (w *warnings) add(path, text string) { *w = append(*w, path+": "+text) }

// entry is the path of an entry of a map.
func entry(m document.Value, key string) string { return m.Path() + "[" + key + "]" }

// oldLabels are the labels of nodes that others have taken the place of, or that
// mean nothing any more.
var oldLabels = map[string]string{
	"beta." + labelDomain + "/arch":                       `deprecated since v1.14; use "` + labelDomain + `/arch" instead`,
	"beta." + labelDomain + "/os":                         `deprecated since v1.14; use "` + labelDomain + `/os" instead`,
	"failure-domain.beta." + labelDomain + "/region":      `deprecated since v1.17; use "topology.` + labelDomain + `/region" instead`,
	"failure-domain.beta." + labelDomain + "/zone":        `deprecated since v1.17; use "topology.` + labelDomain + `/zone" instead`,
	"beta." + labelDomain + "/instance-type":              `deprecated since v1.17; use "node.` + labelDomain + `/instance-type" instead`,
	"app." + labelDomain + "/created-by":                  `deprecated since v1.9`,
	"scheduler.alpha." + labelDomain + "/preferAvoidPods": `deprecated since v1.22; use Taints and Tolerations instead`,
	"node-role." + labelDomain + "/master":                `use "node-role.` + labelDomain + `/control-plane" instead`,
}

// nodeLabels warns of old labels among the names of a map.
func (w *warnings) nodeLabels(labels document.Value) {
	for name := range labels.Members() {
		if text := oldLabels[name]; text != "" {
			w.add(entry(labels, name), text)
		}
	}
}

// nodeLabel warns of an old label that a field names.
func (w *warnings) nodeLabel(field document.Value) {
	if text := oldLabels[field.Text()]; text != "" {
		w.add(field.Path(), field.Text()+" is "+text)
	}
}

// nodeTerm warns of old labels that the expressions of a selector name.
func (w *warnings) nodeTerm(term document.Value) {
	for _, expression := range term.Get("matchExpressions").Elements() {
		w.nodeLabel(expression.Get("key"))
	}
}

const oldIn22 = "deprecated in v1.22, support removal is planned in v1.26"

// oldVolumes are the sources of volumes that nothing serves any more, or soon.
var oldVolumes = [...]struct{ name, text string }{
	{"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"},
	{"gitRepo", "deprecated in v1.11"},
	{"scaleIO", "deprecated in v1.16, non-functional in v1.22+"},
	{"flocker", oldIn22},
	{"storageos", oldIn22},
	{"quobyte", oldIn22},
	{"glusterfs", "deprecated in v1.25, this feature will be removed soon after in a subsequent release"},
}

// volumeSource warns of a source that is deprecated.
func (w *warnings) volumeSource(of document.Value) {
	for _, old := range oldVolumes {
		if v := of.Get(old.name); isSet(v) {
			path := v.Path()
			if old.name == "storageos" { // it is spelled otherwise in warnings
				path = member(of, "storageOS")
			}
			w.add(path, old.text)
		}
	}
}

// wholeBytes warns of amounts of memory and disk that are no whole bytes.
func (w *warnings) wholeBytes(amounts document.Value, names ...string) {
	for _, name := range names {
		v := amounts.Get(name)
		if text := v.Text(); (strings.HasSuffix(text, "m") || isFine(text)) && !isWhole(v) {
			q := amount(v)
			w.add(entry(amounts, name), "fractional byte value "+strconv.Quote(q.String())+" is invalid, must be an integer")
		}
	}
}

// oldClassAnnotation named the class of a volume before the field did.
const oldClassAnnotation = "volume.beta." + labelDomain + "/storage-class"

// repeated warns of elements of a list that have the same value in a field.
func (w *warnings) repeated(list document.Value, field, what string) {
	if !document.MayRepeat(list, []string{field}) {
		return
	}
	var seen names
	for i, element := range list.Elements() {
		if v := element.Get(field); !seen.add(v.Text()) {
			w.add(list.Path()+"["+strconv.Itoa(i)+"]."+field, "duplicate "+what+" "+strconv.Quote(v.Text()))
		}
	}
}

// touched reports whether an update changes more than metadata and status, so
// that writes which only count do not repeat what was said before. A new object
// is touched.
func touched(obj, old document.Value) bool {
	return !old.Exists() || number(obj.At("metadata", "generation")) != number(old.At("metadata", "generation"))
}

// WarnPersistentVolume says which old labels the terms of a volume name.
func (Policy) WarnPersistentVolume(obj, _ document.Value) []string {
	var w warnings
	for _, term := range obj.At("spec", "nodeAffinity", "required", "nodeSelectorTerms").Elements() {
		w.nodeTerm(term)
	}
	return w
}

// WarnStorageClass says which old labels a class names.
func (Policy) WarnStorageClass(obj, _ document.Value) []string {
	var w warnings
	for _, topology := range obj.Get("allowedTopologies").Elements() {
		for _, expression := range topology.Get("matchLabelExpressions").Elements() {
			w.nodeLabel(expression.Get("key"))
		}
	}
	return w
}

// WarnCSIStorageCapacity says which old labels a capacity names.
func (Policy) WarnCSIStorageCapacity(obj, _ document.Value) []string {
	var w warnings
	topology := obj.Get("nodeTopology")
	w.nodeTerm(topology)
	labels := topology.Get("matchLabels")
	for name := range labels.Members() {
		if text := oldLabels[name]; text != "" {
			w.add(member(labels, name), text)
		}
	}
	return w
}

// WarnRuntimeClass says which old labels a class names.
func (Policy) WarnRuntimeClass(obj, _ document.Value) []string {
	var w warnings
	w.nodeLabels(obj.At("scheduling", "nodeSelector"))
	return w
}

// oldIngressClass named the class of an ingress before the field did.
const oldIngressClass = labelDomain + "/ingress.class"

// WarnIngress says that the annotation of a new ingress is deprecated.
func (Policy) WarnIngress(obj, old document.Value) []string {
	if old.Exists() || !obj.At("metadata", "annotations", oldIngressClass).Exists() || isSet(obj.At("spec", "ingressClassName")) {
		return nil
	}
	return []string{"annotation " + strconv.Quote(oldIngressClass) + " is deprecated, please use 'spec.ingressClassName' instead"}
}

// WarnCronJob says what of the pods of a job is deprecated or has no effect, and
// that a schedule should not name its time zone.
func (Policy) WarnCronJob(obj, old document.Value) []string {
	if !touched(obj, old) {
		return nil
	}
	var w warnings
	spec := obj.Get("spec")
	w.template(spec.At("jobTemplate", "spec", "template"))
	if schedule := spec.Get("schedule"); strings.Contains(schedule.Text(), "TZ") {
		w.add(schedule.Path(), "a time zone written as TZ or CRON_TZ is not officially supported; use the field timeZone")
	}
	return w
}
