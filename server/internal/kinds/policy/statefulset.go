package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
)

// DefaultStatefulSetUpdateStrategy defaults to rolling updates of all pods.
func (p Policy) DefaultStatefulSetUpdateStrategy(strategy document.Value) {
	if isEmpty(strategy.Get("type")) {
		strategy.SetString("type", "RollingUpdate")
		strategy.SetObject("rollingUpdate")
	}
	rolling := strategy.Get("rollingUpdate")
	if !strategy.Get("type").Equals("RollingUpdate") || !isSet(rolling) {
		return
	}
	if !isSet(rolling.Get("partition")) {
		rolling.SetInt("partition", 0)
	}
	if p.on("MaxUnavailableStatefulSet") && !isSet(rolling.Get("maxUnavailable")) {
		rolling.SetInt("maxUnavailable", 1)
	}
}

// DefaultStatefulSetSpec completes the claim templates: they are objects of
// their own.
func (p Policy) DefaultStatefulSetSpec(spec document.Value) {
	if p.on("StatefulSetAutoDeletePVC") {
		retention := spec.SetObject("persistentVolumeClaimRetentionPolicy")
		defaultString(retention, "whenDeleted", "Retain")
		defaultString(retention, "whenScaled", "Retain")
	}
	for _, claim := range spec.Get("volumeClaimTemplates").Elements() {
		defaultString(claim, "apiVersion", "v1")
		defaultString(claim, "kind", "PersistentVolumeClaim")
	}
}

// statefulChanges are the members of a stateful set's spec that may change, and their names in the message.
func (p Policy) statefulChanges() (mutable []string, names string) {
	mutable = []string{"replicas", "template", "updateStrategy", "minReadySeconds", "persistentVolumeClaimRetentionPolicy"}
	switch {
	case p.since("1.33"):
		return append(mutable, "ordinals", "revisionHistoryLimit"),
			"'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy'"
	case p.since("1.26"):
		return append(mutable, "ordinals"), "'replicas', 'ordinals', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy'"
	}
	return mutable, "'replicas', 'template', 'updateStrategy', 'persistentVolumeClaimRetentionPolicy'"
}

// ValidateStatefulSet checks a stateful set. Until 1.33 the pods of its template are not checked: they may use volumes of the
// claim templates.
func (p Policy) ValidateStatefulSet(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	template, chosen := spec.Get("template"), spec.Get("selector")
	if service := spec.Get("serviceName"); p.since("1.33") && !old.Exists() && !isEmpty(service) {
		c.Format(service, "dns1123-label")
	}
	if !c.selected(chosen, template, "statefulset") {
		c.unselective(chosen, template)
	} else if !p.since("1.34") {
		c.templateMetadata(template)
	}
	if !p.since("1.34") {
		c.alwaysRestarts(template, "StatefulSet")
	}
	if mutable, names := p.statefulChanges(); old.Exists() && !sameBut(spec, old.Get("spec"), mutable...) {
		c.Forbidden(spec.Path(), "updates to statefulset spec for fields other than "+names+" and 'minReadySeconds' are forbidden")
	}
	return c.Causes
}

// ValidatePartsStatefulSet checks, from 1.34 on, the claims of a new stateful set, and its template with volumes for the
// claims. An update may keep mistakes of a template that were stored before.
func (p Policy) ValidatePartsStatefulSet(obj, old document.Value, rules *document.Hooks) []schema.Cause {
	spec, before := obj.Get("spec"), old.Get("spec")
	if !p.since("1.34") || obj != old && document.Equal(spec, before) {
		return nil
	}
	var c causes
	if !old.Exists() {
		c.claimTemplates(spec.Get("volumeClaimTemplates"), rules)
	}
	template, mark := spec.Get("template"), len(c.Causes)
	if selector.Suitable(spec.Get("selector")) {
		if !old.Exists() || obj == old || len(templateOfSet(before, rules)) == 0 {
			c.Causes = append(c.Causes, templateOfSet(spec, rules)...)
		}
		c.templateMetadata(template) // once more
		annotations := template.At("metadata", "annotations")
		c.podAnnotations(member(template, "annotations"), annotations, template.Get("spec"))
	}
	c.alwaysRestarts(template, "StatefulSet")
	c.PlaceAt(mark, member(template, "spec"))
	return c.Causes
}

// claimTemplates checks the templates of claims as the claims that are made of them.
func (c *causes) claimTemplates(templates document.Value, rules *document.Hooks) {
	for i, template := range templates.Elements() {
		c.Causes = append(c.Causes, inCopy(template, element(templates.Path(), i), func(claim document.Value) []schema.Cause {
			var own causes
			own.claimSpec(claim.Get("spec"))
			return document.MergeCauses(claim, document.Validate(claim.Get("spec"), rules), own.Causes)
		})...)
	}
}

// templateOfSet checks the template of a stateful set as its pods get it: with a volume for each claim, which takes the place of one of
// the same name, and with a name and a domain from the controller.
func templateOfSet(spec document.Value, rules *document.Hooks) []schema.Cause {
	template := spec.Get("template")
	return inCopy(template, template.Path(), func(template document.Value) []schema.Cause {
		pod := template.Get("spec")
		pod.Remove("hostname")
		pod.Remove("subdomain")
		addClaims(pod, spec.At("template", "spec", "volumes"), spec.Get("volumeClaimTemplates"))
		return document.Validate(template, rules)
	})
}

// addClaims gives a pod volumes for claims before its own volumes.
func addClaims(pod, own, claims document.Value) {
	if claims.Len() == 0 {
		return
	}
	var named document.Texts
	pod.Remove("volumes")
	all := pod.SetArray("volumes")
	for _, claim := range claims.Elements() {
		name := claim.At("metadata", "name").Text()
		if !named.Add(name) {
			continue
		}
		volume := all.AppendObject()
		volume.SetString("name", name)
		volume.SetObject("persistentVolumeClaim").SetString("claimName", name)
	}
	for _, volume := range own.Elements() {
		if !named.Has(volume.Get("name").Text()) {
			all.AppendValue(volume)
		}
	}
}

// inCopy checks a copy of a value, and returns the causes in their order, with paths that begin at prefix.
func inCopy(v document.Value, prefix string, check func(document.Value) []schema.Cause) []schema.Cause {
	table, typ := v.Type()
	d, err := document.ReadTyped(table, typ, v.AppendJSON(nil))
	if err != nil {
		return nil // which the decoder of the object has refused
	}
	defer d.Release()
	found := document.OrderCauses(d.Root(), check(d.Root()))
	for i := range found {
		found[i].Field, found[i].Place, found[i].Hides = prefix+"."+found[i].Field, prefix, ""
	}
	return found
}
