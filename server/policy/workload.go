package policy

import (
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Rules that the kinds with a pod template share.

// workload checks the selector and the template of a kind that keeps pods
// running.
func (c *causes) workload(spec document.Value) {
	template := spec.Get("template")
	c.selector(spec.Get("selector"), template.At("metadata", "labels"))
	c.template("spec.template", template)
}

// template checks a pod template whose pods are always restarted.
func (c *causes) template(path string, template document.Value) {
	spec := template.Get("spec")
	if policy := spec.Get("restartPolicy"); policy.Exists() && !policy.Equals("Always") {
		c.notSupported(path+".spec.restartPolicy", policy, "Always")
	}
	if spec.Get("activeDeadlineSeconds").Exists() {
		c.forbidden(path+".spec.activeDeadlineSeconds", "activeDeadlineSeconds is not supported here")
	}
	c.podSpec(path+".spec", spec)
}

// selector checks that a label selector says something, and that the template
// makes pods that it selects.
func (c *causes) selector(selector, templateLabels document.Value) {
	if selector.Len() == 0 {
		c.invalid("spec.selector", selector, "empty selector is invalid")
		return
	}
	parsed, err := parseSelector(selector)
	if err != nil {
		c.invalid("spec.selector", selector, err.Error())
		return
	}
	if !parsed.Matches(labelSet(templateLabels)) {
		c.invalid("spec.template.metadata.labels", templateLabels, "`selector` does not match template `labels`")
	}
}

func labelSet(v document.Value) labels.Set {
	set := labels.Set{}
	for key, value := range v.Members() {
		set[key] = value.Text()
	}
	return set
}

func parseSelector(v document.Value) (labels.Selector, error) {
	s := v1.LabelSelector{MatchLabels: labelSet(v.Get("matchLabels"))}
	for _, e := range v.Get("matchExpressions").Elements() {
		req := v1.LabelSelectorRequirement{Key: e.Get("key").Text(), Operator: v1.LabelSelectorOperator(e.Get("operator").Text())}
		for _, value := range e.Get("values").Elements() {
			req.Values = append(req.Values, value.Text())
		}
		s.MatchExpressions = append(s.MatchExpressions, req)
	}
	return v1.LabelSelectorAsSelector(&s)
}

// selectorText writes a label selector for people: "a=b,c in (d,e)".
func selectorText(v document.Value) string {
	if v.Len() == 0 {
		return "<none>"
	}
	parsed, err := parseSelector(v)
	if err != nil {
		return "<error>"
	}
	return parsed.String()
}

// mapText writes a plain map the same way, in the order of its keys.
func mapText(v document.Value) string {
	if v.Len() == 0 {
		return "<none>"
	}
	var parts []string
	for key, value := range v.Members() {
		parts = append(parts, key+"="+value.Text())
	}
	sort.Strings(parts)
	return strings.Join(parts, ",")
}

// ValidateDeployment checks a deployment.
func (Policy) ValidateDeployment(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	c.workload(spec)
	ready, _ := spec.Get("minReadySeconds").Int()
	if deadline, ok := spec.Get("progressDeadlineSeconds").Int(); ok && deadline <= ready {
		c.invalid("spec.progressDeadlineSeconds", spec.Get("progressDeadlineSeconds"), "must be greater than minReadySeconds")
	}
	if spec.At("strategy", "type").Equals("Recreate") && spec.At("strategy", "rollingUpdate").Exists() {
		c.forbidden("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'")
	}
	return c
}

// ValidateReplicaSet checks a replica set.
func (Policy) ValidateReplicaSet(obj, _ document.Value) []schema.Cause {
	var c causes
	c.workload(obj.Get("spec"))
	return c
}

// ValidateDaemonSet checks a daemon set.
func (Policy) ValidateDaemonSet(obj, _ document.Value) []schema.Cause {
	var c causes
	c.workload(obj.Get("spec"))
	return c
}

// statefulMutable are the members of a stateful set's spec that may change.
var statefulMutable = map[string]bool{"replicas": true, "template": true, "updateStrategy": true, "minReadySeconds": true, "persistentVolumeClaimRetentionPolicy": true}

// ValidateStatefulSet checks a stateful set.
func (Policy) ValidateStatefulSet(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	c.workload(spec)
	if old.Exists() {
		before := old.Get("spec")
		for _, side := range []struct{ a, b document.Value }{{spec, before}, {before, spec}} {
			for name, v := range side.a.Members() {
				if !statefulMutable[name] && !same(v, side.b.Get(name)) {
					c.forbidden("spec", "updates to statefulset spec for fields other than 'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden")
					return c
				}
			}
		}
	}
	return c
}

// DefaultReplicationController selects, and labels itself, by the labels of its
// template when it does not say.
func (Policy) DefaultReplicationController(obj document.Value) {
	spec := obj.Get("spec")
	template := spec.At("template", "metadata", "labels")
	if template.Len() == 0 {
		return
	}
	if spec.Get("selector").Len() == 0 {
		spec.Put("selector", template)
	}
	if meta := obj.SetObject("metadata"); meta.Get("labels").Len() == 0 {
		meta.Put("labels", template)
	}
}

// ValidateReplicationController checks a replication controller.
func (Policy) ValidateReplicationController(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	if spec.Get("selector").Len() == 0 {
		c.required("spec.selector", "")
	}
	template := spec.Get("template")
	if !template.Exists() {
		c.required("spec.template", "")
		return c
	}
	labels := template.At("metadata", "labels")
	for key, value := range spec.Get("selector").Members() {
		if !same(labels.Get(key), value) {
			c.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
			break
		}
	}
	c.template("spec.template", template)
	return c
}
