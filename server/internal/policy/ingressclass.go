package policy

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateIngressClass checks the controller, and that the parameters are where
// their scope says.
func (Policy) ValidateIngressClass(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	controller := spec.Get("controller")
	if isEmpty(controller) {
		c.required(member(spec, "controller"), "")
	} else {
		for _, problem := range validation.IsDomainPrefixedPath(field.NewPath(""), controller.Text()) {
			c.invalid(controller, problem.Detail)
		}
	}
	parameters := spec.Get("parameters")
	namespace := parameters.Get("namespace")
	switch parameters.Get("scope").Text() {
	case "Cluster":
		if isSet(namespace) {
			c.forbidden(namespace.Path(), "`parameters.scope` is set to 'Cluster'")
		}
	case "Namespace":
		if isSet(namespace) {
			c.formatText(namespace.Path(), namespace.Text(), "dns1123-label")
		} else {
			c.required(member(parameters, "namespace"), "`parameters.scope` is set to 'Namespace'")
		}
	}
	return c
}

// CellIngressClassParameters names the parameters: "Kind.group/name".
func (Policy) CellIngressClassParameters(obj document.Value) any {
	parameters := obj.At("spec", "parameters")
	if !isSet(parameters) {
		return none
	}
	text := parameters.Get("kind").Text()
	if group := parameters.Get("apiGroup"); isSet(group) {
		text += "." + group.Text()
	}
	return text + "/" + parameters.Get("name").Text()
}
