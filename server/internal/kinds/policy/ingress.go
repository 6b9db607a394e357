package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ingressClassAnnotation is the older way to name the class of an ingress.
const ingressClassAnnotation = labelDomain + "/ingress.class"

// CreateIngress begins an ingress's life.
func (Policy) CreateIngress(obj document.Value) { obj.SetObject("status").SetObject("loadBalancer") }

// ValidateIngress checks hosts and paths.
func (Policy) ValidateIngress(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	class := obj.At("metadata", "annotations", ingressClassAnnotation)
	if !old.Exists() && class.Exists() && isSet(spec.Get("ingressClassName")) {
		c.InvalidAt("annotations."+ingressClassAnnotation, class, "can not be set when the class field is also set")
	}
	return c.Causes
}
