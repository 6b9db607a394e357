package policy

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
)

const (
	// jobTracking is the annotation of jobs whose pods are counted with
	// finalizers, which all new ones are.
	jobTracking = "batch." + labelDomain + "/job-tracking"
	// The labels by which the pods of a job are found.
	controllerUID = "controller-uid"
	jobName       = "job-name"
)

// DefaultJob sets members that a job has and a template of jobs does not. A job without
// labels gets those of its template.
func (Policy) DefaultJob(obj document.Value) {
	spec := obj.SetObject("spec")
	if !isSet(spec.Get("parallelism")) {
		if !isSet(spec.Get("completions")) {
			spec.SetInt("completions", 1)
		}
		spec.SetInt("parallelism", 1)
	}
	if !isSet(spec.Get("backoffLimit")) {
		spec.SetInt("backoffLimit", 6)
	}
	if !isSet(spec.Get("completionMode")) {
		spec.SetString("completionMode", "NonIndexed")
	}
	if !isSet(spec.Get("suspend")) {
		spec.SetBool("suspend", false)
	}
	inheritLabels(obj)
}

// StatusJob labels a job from the stored template.
func (Policy) StatusJob(obj, _ document.Value) { inheritLabels(obj) }

// inheritLabels gives an object without labels those of its template.
func inheritLabels(obj document.Value) {
	inherited := obj.At("spec", "template", "metadata", "labels")
	if meta := obj.SetObject("metadata"); isEmpty(meta.Get("labels")) && !isEmpty(inherited) {
		meta.Assume("labels", inherited)
	}
}

// CreateJob chooses the labels and the selector by which the pods of the job are found,
// unless its author does.
func (Policy) CreateJob(obj document.Value) {
	meta, spec := obj.SetObject("metadata"), obj.SetObject("spec")
	meta.SetObject("annotations").SetString(jobTracking, "")
	if spec.Get("manualSelector").Bool() {
		return
	}
	template := spec.SetObject("template").SetObject("metadata")
	labelled := template.Get("labels").Exists()
	chosen, wanted := template.SetObject("labels"), spec.SetObject("selector").SetObject("matchLabels")
	uid := meta.Get("uid").Text()
	for _, label := range [...][2]string{{controllerUID, uid}, {jobName, meta.Get("name").Text()}} {
		if !chosen.Get(label[0]).Exists() {
			chosen.SetString(label[0], label[1])
		}
	}
	if !wanted.Get(controllerUID).Exists() {
		wanted.SetString(controllerUID, uid)
	}
	// A name that labels cannot have is reported at the template, and here too when the
	// job had labels.
	named := len(document.CheckFormat("label-value", meta.Get("name").Text())) == 0
	if have := meta.Get("labels"); (isEmpty(have) || have.Assumed()) && (labelled || named) {
		meta.Put("labels", chosen)
	}
}

// ValidateJob checks a job, and that the template of its pods is unchanged.
func (Policy) ValidateJob(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	template, chosen := spec.Get("template"), spec.Get("selector")
	if obj != old { // reported only once
		c.generatedSelector(obj)
	}
	if !isSet(chosen) {
		c.Required(member(spec, "selector"), "")
	}
	if labels := template.At("metadata", "labels"); !isSet(chosen) || selector.Suitable(chosen) &&
		!selector.ReadRequirements(chosen).Match(selector.ReadLabels(labels)) {
		c.notSelected(template, labels)
	}
	if obj != old {
		c.indexedHost(obj)
	}
	c.uncountedPods(obj.At("status", "uncountedTerminatedPods"))
	if old.Exists() {
		c.jobUpdate(obj, old)
	}
	return c.Causes
}

// indexedHost checks that the pods of an indexed job can have host names.
func (c *causes) indexedHost(obj document.Value) {
	completions := number(obj.At("spec", "completions"))
	if completions == 0 || !obj.At("spec", "completionMode").Equals("Indexed") {
		return
	}
	name := obj.At("metadata", "name")
	host := name.Text() + "-" + strconv.FormatInt(completions-1, 10)
	if len(document.CheckFormat("dns1123-label", host)) > 0 {
		c.InvalidAt("metadata.name", name, "will not able to create pod with invalid DNS label: "+host)
	}
}

// uncountedPods checks that no pod is counted twice.
func (c *causes) uncountedPods(status document.Value) {
	var seen document.Texts
	for _, name := range [...]string{"succeeded", "failed"} {
		for _, uid := range status.Get(name).Elements() {
			if uid.Equals("") {
				c.Invalid(uid, "must not be empty")
			} else if !seen.Add(uid.Text()) {
				c.Duplicate(uid)
			}
		}
	}
}

// generatedSelector checks that the author of a job does not choose the labels
// that the server chooses.
func (c *causes) generatedSelector(obj document.Value) {
	spec := obj.Get("spec")
	chosen := spec.Get("selector")
	if spec.Get("manualSelector").Bool() || !isSet(chosen) {
		return
	}
	field := member(spec, "template", "metadata", "labels")
	template := spec.At("template", "metadata", "labels")
	expected := labels.Set{controllerUID: obj.At("metadata", "uid").Text(), jobName: obj.At("metadata", "name").Text()}
	for _, name := range [...]string{controllerUID, jobName} {
		have := template.Get(name)
		if !have.Exists() {
			c.Required(field+"["+name+"]", "must be '"+expected[name]+"'")
		} else if have.Text() != expected[name] {
			c.InvalidAt(field+"["+name+"]", template, "must be '"+expected[name]+"'")
		}
	}
	if parsed, err := selector.Checked(chosen); err == nil && !parsed.Matches(expected) {
		before := len(c.Causes)
		c.Invalid(chosen, "`selector` not auto-generated")
		c.PlaceAt(before, field+"["+jobName+"]")
	}
}

// jobUpdate checks the immutable members, and those that may change only while nothing
// has started.
func (c *causes) jobUpdate(obj, old document.Value) {
	spec, before := obj.Get("spec"), old.Get("spec")
	annotations := obj.At("metadata", "annotations")
	if annotations.Get(jobTracking).Exists() && !old.At("metadata", "annotations", jobTracking).Exists() {
		c.Forbidden(key(annotations, jobTracking), "cannot add this annotation")
	}
	c.unchanged(spec, before, "completions")
	c.unchanged(spec, before, "selector")
	waits := before.Get("suspend").Bool() && !isSet(old.At("status", "startTime"))
	if !waits || !sameTemplate(spec.Get("template"), before.Get("template")) {
		c.unchanged(spec, before, "template")
	}
	c.unchanged(spec, before, "completionMode")
}

// sameTemplate reports whether two templates are equal except for scheduling, labels and
// annotations.
func sameTemplate(a, b document.Value) bool {
	return sameBut(a.Get("metadata"), b.Get("metadata"), "labels", "annotations") &&
		sameBut(a.Get("spec"), b.Get("spec"), "nodeSelector", "tolerations", "affinity") &&
		sameBut(a.At("spec", "affinity"), b.At("spec", "affinity"), "nodeAffinity")
}

// unchanged checks that a member has not changed.
func (c *causes) unchanged(obj, old document.Value, name string) {
	if v := obj.Get(name); !document.Equal(v, old.Get(name)) {
		c.InvalidAt(member(obj, name), v, "field is immutable")
	}
}

// CellJobDuration shows how long the job took or has been running.
func (Policy) CellJobDuration(obj document.Value) any {
	start, end := obj.At("status", "startTime"), obj.At("status", "completionTime")
	if isEmpty(start) {
		return ""
	}
	if until, err := time.Parse(time.RFC3339, end.Text()); err == nil {
		return codec.Age(start.Text(), until)
	}
	return api.Ago{Since: start.Text()}
}
