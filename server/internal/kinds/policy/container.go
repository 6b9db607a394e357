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
	if !isEmpty(container.Get("imagePullPolicy")) {
		return
	}
	policy := "IfNotPresent"
	if isLatest(container.Get("image").Text()) {
		policy = "Always"
	}
	container.SetString("imagePullPolicy", policy)
}

// container checks the members of all sorts of containers. taken are the names of
// containers before this one, volumes those of the pod by name.
func (c *causes) container(container document.Value, taken *document.Texts, volumes map[string]document.Value) {
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
	c.requirements(container.Get("resources"))
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
	for _, v := range [...]document.Value{container.Get("ports"), container.Get("resources")} {
		if !isEmpty(v) {
			c.Forbidden(v.Path(), why)
		}
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
