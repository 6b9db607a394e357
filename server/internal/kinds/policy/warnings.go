package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// warnings are for the author of a valid object, in the order of 1.25. Each begins with
// the path of its field.
type warnings []string

func (w *warnings) add(path, text string) { *w = append(*w, path+": "+text) }

// oldLabels are the labels of nodes that were replaced by others, or have no meaning any
// more.
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
			w.add(key(labels, name), text)
		}
	}
}

// nodeLabel warns of an old label in a field.
func (w *warnings) nodeLabel(field document.Value) {
	if text := oldLabels[field.Text()]; text != "" {
		w.add(field.Path(), field.Text()+" is "+text)
	}
}

// nodeTerm warns of old labels in the expressions of a selector, and of values that no label has, where they are not refused.
func (w *warnings) nodeTerm(term document.Value, values bool) {
	for _, expression := range term.Get("matchExpressions").Elements() {
		w.nodeLabel(expression.Get("key"))
		if !values {
			continue
		}
		for _, value := range expression.Get("values").Elements() {
			for _, problem := range document.CheckFormat("label-value", value.Text()) {
				w.add(value.Path(), value.Text()+" is invalid, "+problem)
			}
		}
	}
}

const (
	oldIn22  = "deprecated in v1.22, support removal is planned in v1.26"
	goneIn25 = "deprecated in v1.22, non-functional in v1.25+"
	goneIn31 = "deprecated in v1.28, non-functional in v1.31+"
)

// oldVolumes are the sources of volumes that are not served any more, or soon will not
// be. later is the text since 1.27.
var oldVolumes = [...]struct{ name, text, later string }{
	{"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+", ""},
	{"gitRepo", "deprecated in v1.11", ""},
	{"scaleIO", "deprecated in v1.16, non-functional in v1.22+", ""},
	{"flocker", oldIn22, goneIn25},
	{"storageos", oldIn22, goneIn25},
	{"quobyte", oldIn22, goneIn25},
	{"glusterfs", "deprecated in v1.25, this feature will be removed soon after in a subsequent release", "deprecated in v1.25, non-functional in v1.26+"},
	{"cephfs", "", goneIn31},
	{"rbd", "", goneIn31},
}

// volumeSource warns of a deprecated source.
func (w *warnings) volumeSource(p Policy, of document.Value) {
	for _, old := range oldVolumes {
		if v := of.Get(old.name); isSet(v) {
			path := v.Path()
			if old.name == "storageos" { // warnings spell it differently
				path = member(of, "storageOS")
			}
			text := old.text
			if p.since("1.27") && old.later != "" {
				text = old.later
			}
			if text == goneIn31 && !p.since("1.28") || text == "" {
				continue
			}
			if old.name == "gitRepo" && p.since("1.33") && (p.since("1.36") || !p.on("GitRepoVolumeDriver")) {
				text += ", and disabled by default in v1.33+"
			}
			w.add(path, text)
		}
	}
}

// wholeBytes warns of fractional bytes in amounts of memory and disk.
func (w *warnings) wholeBytes(amounts document.Value, names ...string) {
	for _, name := range names {
		v := amounts.Get(name)
		if text := v.Text(); (strings.HasSuffix(text, "m") || isFine(text)) && !isWhole(v) {
			w.add(key(amounts, name), "fractional byte value "+strconv.Quote(amount(v).String())+" is invalid, must be an integer")
		}
	}
}

// oldClassAnnotation named the class of a volume before the field did.
const oldClassAnnotation = "volume.beta." + labelDomain + "/storage-class"

// oldClass warns of the annotation of a volume or a claim.
func (w *warnings) oldClass(p Policy, obj document.Value) {
	if p.since("1.28") && obj.At("metadata", "annotations", oldClassAnnotation).Exists() {
		w.add("metadata.annotations["+oldClassAnnotation+"]", `deprecated since v1.8; use "storageClassName" attribute instead`)
	}
}

// repeated warns of elements of a list that have the same value in a field.
func (w *warnings) repeated(list document.Value, field, what string) {
	if !document.MayRepeat(list, []string{field}) {
		return
	}
	var seen document.Texts
	for i, element := range list.Elements() {
		if v := element.Get(field); !seen.Add(v.Text()) {
			w.add(list.Path()+"["+strconv.Itoa(i)+"]."+field, "duplicate "+what+" "+strconv.Quote(v.Text()))
		}
	}
}

// touched reports whether an update changes more than metadata and status, so that writes
// without such a change do not repeat warnings. A new object is touched.
func touched(obj, old document.Value) bool {
	return !old.Exists() || number(obj.At("metadata", "generation")) != number(old.At("metadata", "generation"))
}

// WarnStorageClass warns of old labels in a class.
func (Policy) WarnStorageClass(obj, _ document.Value) []string {
	var w warnings
	for _, topology := range obj.Get("allowedTopologies").Elements() {
		for _, expression := range topology.Get("matchLabelExpressions").Elements() {
			w.nodeLabel(expression.Get("key"))
		}
	}
	return w
}

// WarnCSIStorageCapacity warns of old labels in a capacity.
func (Policy) WarnCSIStorageCapacity(obj, _ document.Value) []string {
	var w warnings
	topology := obj.Get("nodeTopology")
	w.nodeTerm(topology, false)
	labels := topology.Get("matchLabels")
	for name := range labels.Members() {
		if text := oldLabels[name]; text != "" {
			w.add(member(labels, name), text)
		}
	}
	return w
}

// WarnRuntimeClass warns of old labels in a class.
func (Policy) WarnRuntimeClass(obj, _ document.Value) []string {
	var w warnings
	w.nodeLabels(obj.At("scheduling", "nodeSelector"))
	return w
}

// WarnCronJob warns of deprecated or ineffective parts of the pods of a job, and, with every
// write, of a time zone in the schedule.
func (p Policy) WarnCronJob(obj, old document.Value) []string {
	var w warnings
	spec := obj.Get("spec")
	if !old.Exists() {
		w.nameOfPods(p, obj, "Pod names and hostnames")
	}
	if touched(obj, old) {
		w.template(p, spec.At("jobTemplate", "spec", "template"))
	}
	if schedule := spec.Get("schedule"); strings.Contains(schedule.Text(), "TZ") {
		w.add(schedule.Path(), "a time zone written as TZ or CRON_TZ is not officially supported; use the field timeZone")
	}
	return w
}
