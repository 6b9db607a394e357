package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
)

// DefaultContainer sets the pull policy: an image that can change under its
// name is always pulled.
func (Policy) DefaultContainer(container document.Value) { defaultPullPolicy(container) }

// DefaultEphemeralContainer is DefaultContainer for ephemeral containers.
func (Policy) DefaultEphemeralContainer(container document.Value) { defaultPullPolicy(container) }

func defaultPullPolicy(container document.Value) {
	pullPolicyOf(container, "imagePullPolicy", container.Get("image").Text())
}

// pullPolicyOf fills in when an image is pulled.
func pullPolicyOf(of document.Value, member, image string) {
	if !isEmpty(of.Get(member)) {
		return
	}
	policy := "IfNotPresent"
	if isLatest(image) {
		policy = "Always"
	}
	of.SetString(member, policy)
}

// container checks the members of all sorts of containers. taken are the names of
// containers before this one, volumes those of the pod by name.
func (p Policy) container(c *causes, container, spec document.Value, taken *document.Texts, volumes map[string]document.Value) {
	name := container.Get("name")
	if before := len(c.Causes); !taken.Add(name.Text()) {
		c.Duplicate(name)
		c.PlaceAt(before, member(container, "securityContext")) // after the other members of all containers
	}
	envFrom := container.Get("envFrom")
	for _, source := range envFrom.Elements() {
		switch fromMap, fromSecret := source.Get("configMapRef").Exists(), source.Get("secretRef").Exists(); {
		case !fromMap && !fromSecret:
			c.InvalidText(envFrom.Path(), "", "must specify one of: `configMapRef` or `secretRef`")
		case fromMap && fromSecret:
			c.InvalidText(envFrom.Path(), "", "may not have more than one field specified at a time")
		}
	}
	c.mounts(container, volumes)
	resources := container.Get("resources")
	c.requirements(resources)
	if claims := resources.Get("claims"); !isEmpty(claims) {
		c.claimed(claims, spec.Get("resourceClaims"))
	}
	if policies := container.Get("resizePolicy"); policies.Len() > 1 {
		c.repeatedPolicies(policies)
	}
	if p.since("1.36") && spec.Get("restartPolicy").Equals("Never") {
		c.neverRestarts(container.Get("resizePolicy"))
	}
	if p.since("1.30") && container.At("securityContext", "procMount").Equals("Unmasked") && !isFalse(spec.Get("hostUsers")) {
		c.Invalid(container.At("securityContext", "procMount"), "`hostUsers` must be false to use `Unmasked`")
	}
}

// isFalse reports whether a member is set to false.
func isFalse(v document.Value) bool { return isSet(v) && !v.Bool() }

// repeatedPolicies checks that each resource has one policy.
func (c *causes) repeatedPolicies(policies document.Value) {
	var taken document.Texts
	for i, policy := range policies.Elements() {
		if name := policy.Get("resourceName").Text(); !taken.Add(name) {
			c.duplicateAt(element(policies.Path(), i), name)
		}
	}
}

// neverRestarts checks that no change of resources restarts a container of a pod that is not restarted.
func (c *causes) neverRestarts(policies document.Value) {
	for _, policy := range policies.Elements() {
		if restart := policy.Get("restartPolicy"); !restart.Equals("NotRequired") {
			c.InvalidAt(policies.Path(), restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
		}
	}
}

// initContainer checks a container that runs before the regular ones: once, or as a sidecar, while they run.
func (p Policy) initContainer(c *causes, container, spec document.Value) {
	p.containerRestarts(c, container, true)
	policies := container.Get("resizePolicy")
	if !p.since("1.32") && !isEmpty(policies) {
		c.Invalid(policies, "must not be set for init containers")
	}
	if isSidecar(container) {
		p.lifecycle(c, container, spec)
		return
	}
	why := "may not be set for init containers"
	if p.since("1.28") {
		why += " without restartPolicy=Always"
	}
	c.runsOnce(container, why)
	if !p.since("1.36") {
		return
	}
	for i, policy := range policies.Elements() {
		if restart := policy.Get("restartPolicy"); restart.Equals("RestartContainer") {
			c.InvalidAt(element(policies.Path(), i)+".restartPolicy", restart, "must not be set to 'RestartContainer' for non-sidecar initContainers")
		}
	}
}

// notForOnce are members without a meaning for a container that runs once.
var notForOnce = [...]string{"livenessProbe", "readinessProbe", "startupProbe", "lifecycle"}

// runsOnce checks a container that runs once; forbidden members are not validated.
func (c *causes) runsOnce(container document.Value, why string) {
	for _, name := range notForOnce {
		if v := container.Get(name); isSet(v) {
			c.Forbidden(v.Path(), why)
			c.Hide(v.Path())
		}
	}
}

// ephemeralContainer checks a container added for debugging; others are the names of the
// containers that it can target.
func (c *causes) ephemeralContainer(container document.Value, others document.Texts) {
	const why = "cannot be set for an Ephemeral Container"
	for _, name := range [...]string{"ports", "resources", "resizePolicy", "restartPolicyRules"} {
		if v := container.Get(name); !isEmpty(v) {
			c.Forbidden(v.Path(), why)
		}
	}
	if policy := container.Get("restartPolicy"); isSet(policy) {
		c.Forbidden(policy.Path(), why)
	}
	c.runsOnce(container, why)
	for _, mount := range container.Get("volumeMounts").Elements() {
		for _, name := range [...]string{"subPath", "subPathExpr"} {
			if v := mount.Get(name); v.Text() != "" {
				c.Forbidden(v.Path(), why)
			}
		}
	}
	if target := container.Get("targetContainerName"); target.Text() != "" && !others.Has(target.Text()) {
		c.NotFound(target)
	}
}
