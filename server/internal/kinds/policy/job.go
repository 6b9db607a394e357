package policy

import (
	"iter"
	"maps"
	"math"
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
	// The labels by which the pods of a job are found. The prefixed ones came later.
	controllerUID         = "controller-uid"
	jobName               = "job-name"
	prefixedControllerUID = "batch." + labelDomain + "/" + controllerUID
	prefixedJobName       = "batch." + labelDomain + "/" + jobName
)

// DefaultJob sets members that a job has and a template of jobs does not. A job without
// labels gets those of its template.
func (p Policy) DefaultJob(obj document.Value) {
	spec := obj.SetObject("spec")
	if !isSet(spec.Get("parallelism")) {
		if !isSet(spec.Get("completions")) {
			spec.SetInt("completions", 1)
		}
		spec.SetInt("parallelism", 1)
	}
	if !isSet(spec.Get("backoffLimit")) {
		limit := int64(6)
		if p.since("1.28") && isSet(spec.Get("backoffLimitPerIndex")) {
			limit = math.MaxInt32
		}
		spec.SetInt("backoffLimit", limit)
	}
	if !isSet(spec.Get("completionMode")) {
		spec.SetString("completionMode", "NonIndexed")
	}
	if !isSet(spec.Get("suspend")) {
		spec.SetBool("suspend", false)
	}
	if p.on("JobPodReplacementPolicy") && !isSet(spec.Get("podReplacementPolicy")) {
		when := "TerminatingOrFailed"
		if isSet(spec.Get("podFailurePolicy")) {
			when = "Failed"
		}
		spec.SetString("podReplacementPolicy", when)
	}
	if p.since("1.29") && !isSet(spec.Get("manualSelector")) {
		spec.SetBool("manualSelector", false)
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
func (p Policy) CreateJob(obj document.Value) {
	meta, spec := obj.SetObject("metadata"), obj.SetObject("spec")
	if !p.since("1.28") {
		meta.SetObject("annotations").SetString(jobTracking, "")
	}
	if spec.Get("manualSelector").Bool() {
		return
	}
	template := spec.SetObject("template").SetObject("metadata")
	labelled := template.Get("labels").Exists()
	chosen, wanted := template.SetObject("labels"), spec.SetObject("selector").SetObject("matchLabels")
	uid := meta.Get("uid").Text()
	for label, value := range p.jobLabels(meta, true) {
		if !chosen.Get(label).Exists() {
			chosen.SetString(label, value)
		}
	}
	selects := controllerUID
	if p.since("1.27") {
		selects = prefixedControllerUID
	}
	if !wanted.Get(selects).Exists() {
		wanted.SetString(selects, uid)
	}
	// A name that labels cannot have is reported at the template, and here too when the
	// job had labels.
	named := len(document.CheckFormat("label-value", meta.Get("name").Text())) == 0
	if have := meta.Get("labels"); (isEmpty(have) || have.Assumed()) && (labelled || named) {
		meta.Put("labels", chosen)
	}
}

// jobLabels are the labels of the pods of a job with their values, in the order in which they are checked. prefixed adds
// those with a prefix, in releases that have them.
func (p Policy) jobLabels(meta document.Value, prefixed bool) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		uid, name := meta.Get("uid").Text(), meta.Get("name").Text()
		if yield(controllerUID, uid) && yield(jobName, name) && prefixed && p.since("1.27") {
			_ = yield(prefixedControllerUID, uid) && yield(prefixedJobName, name)
		}
	}
}

// ValidateJob checks a job, and that the template of its pods is unchanged.
func (p Policy) ValidateJob(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	template, chosen := spec.Get("template"), spec.Get("selector")
	if obj != old { // reported only once
		before := old.At("spec", "template", "metadata", "labels")
		prefixed := !old.Exists() || before.Get(prefixedJobName).Exists() && before.Get(prefixedControllerUID).Exists()
		c.generatedSelector(obj, p.jobLabels(obj.Get("metadata"), prefixed))
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
	if obj != old {
		c.jobPolicies(spec)
	}
	c.uncountedPods(obj.At("status", "uncountedTerminatedPods"))
	if old.Exists() {
		p.jobUpdate(&c, obj, old)
		p.jobStatus(&c, obj, old)
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
func (c *causes) generatedSelector(obj document.Value, chosen iter.Seq2[string, string]) {
	spec := obj.Get("spec")
	query := spec.Get("selector")
	if spec.Get("manualSelector").Bool() || !isSet(query) {
		return
	}
	field := member(spec, "template", "metadata", "labels")
	template := spec.At("template", "metadata", "labels")
	last := ""
	for name, value := range chosen {
		have := template.Get(name)
		if !have.Exists() {
			c.Required(field+"["+name+"]", "must be '"+value+"'")
		} else if have.Text() != value {
			c.InvalidAt(field+"["+name+"]", template, "must be '"+value+"'")
		}
		last = name
	}
	if parsed, err := selector.Checked(query); err == nil && !parsed.Matches(labels.Set(maps.Collect(chosen))) {
		before := len(c.Causes)
		c.Invalid(query, "`selector` not auto-generated")
		c.PlaceAt(before, field+"["+last+"]")
	}
}

// jobUpdate checks the immutable members, and those that may change only while nothing
// has started.
func (p Policy) jobUpdate(c *causes, obj, old document.Value) {
	spec, before := obj.Get("spec"), old.Get("spec")
	annotations := obj.At("metadata", "annotations")
	if !p.since("1.28") && annotations.Get(jobTracking).Exists() && !old.At("metadata", "annotations", jobTracking).Exists() {
		c.Forbidden(key(annotations, jobTracking), "cannot add this annotation")
	}
	if completions := spec.Get("completions"); !p.since("1.27") || !spec.Get("completionMode").Equals("Indexed") {
		c.unchanged(spec, before, "completions")
	} else if isSet(completions) && !document.Equal(completions, before.Get("completions")) && number(completions) != number(spec.Get("parallelism")) {
		c.Invalid(completions, "can only be modified in tandem with spec.parallelism")
	}
	c.unchanged(spec, before, "selector")
	p.jobTemplate(c, obj, old)
	c.unchanged(spec, before, "completionMode")
	c.unchanged(spec, before, "podFailurePolicy")
	if p.since("1.28") {
		c.unchanged(spec, before, "backoffLimitPerIndex")
	}
	if p.since("1.30") {
		c.unchanged(spec, before, "managedBy")
		c.unchanged(spec, before, "successPolicy")
	}
}

// jobTemplate checks what of the template has changed: the places where its pods may run while the job waits, and from 1.36
// their resources.
func (p Policy) jobTemplate(c *causes, obj, old document.Value) {
	spec, before := obj.Get("spec"), old.Get("spec")
	suspended := before.Get("suspend").Bool()
	waits := suspended && !isSet(old.At("status", "startTime"))
	idle := suspended && number(old.At("status", "active")) == 0 &&
		(waits || conditionIs(old.At("status", "conditions"), "Suspended", "True"))
	if p.on("MutableSchedulingDirectivesForSuspendedJobs") {
		waits = idle
	}
	template, unchanged := spec.Get("template"), before.Get("template")
	if !suspended || !idle || !p.on("MutablePodResourcesForSuspendedJobs") {
		if !waits || !sameTemplate(template, unchanged) {
			c.unchanged(spec, before, "template")
		}
		return
	}
	// Labels and annotations are compared as little as the resources are.
	if !sameButResources(template.Get("spec"), unchanged.Get("spec"), waits) {
		c.InvalidAt(member(template, "spec"), template.Get("spec"), "field is immutable")
	}
}

// scheduling are the members of a pod's specification that say where the pod runs; of affinity only the part about nodes does.
var scheduling = []string{"nodeSelector", "tolerations", "affinity", "schedulingGates"}

// sameTemplate reports whether two templates are equal except for scheduling, labels and
// annotations.
func sameTemplate(a, b document.Value) bool {
	return sameBut(a.Get("metadata"), b.Get("metadata"), "labels", "annotations") &&
		sameBut(a.Get("spec"), b.Get("spec"), scheduling...) &&
		sameBut(a.At("spec", "affinity"), b.At("spec", "affinity"), "nodeAffinity")
}

// sameButResources reports whether two specifications of pods are equal except for the resources of their containers, and
// for scheduling if that is movable.
func sameButResources(a, b document.Value, movable bool) bool {
	changing := []string{"containers", "initContainers"}
	if movable {
		changing = append(changing, scheduling...)
		if !sameBut(a.Get("affinity"), b.Get("affinity"), "nodeAffinity") {
			return false
		}
	}
	for _, list := range changing[:2] {
		one, other := a.Get(list), b.Get(list)
		if one.Len() != other.Len() {
			return false
		}
		for i, container := range one.Elements() {
			if !sameBut(container, other.Index(i), "resources") {
				return false
			}
		}
	}
	return sameBut(a, b, changing...)
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
