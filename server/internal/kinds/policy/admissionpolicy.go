package policy

import (
	"cmp"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/admission/conditions"
)

// ValidateValidatingAdmissionPolicy checks the expressions of a policy.
func (p Policy) ValidateValidatingAdmissionPolicy(obj, old document.Value) []schema.Cause {
	return conditions.ValidatingPolicy(obj, old, p.expressions)
}

// ValidateMutatingAdmissionPolicy checks the expressions of a policy.
func (p Policy) ValidateMutatingAdmissionPolicy(obj, old document.Value) []schema.Cause {
	return conditions.MutatingPolicy(obj, old, p.expressions)
}

// CellParamRef shows the parameters of a binding. A name without a namespace may be in any.
func (p Policy) CellParamRef(spec document.Value) any {
	ref := spec.Get("paramRef")
	switch name, namespace := ref.Get("name").Text(), ref.Get("namespace").Text(); {
	case name != "":
		return cmp.Or(namespace, "*") + "/" + name
	case isSet(ref.Get("selector")):
		return p.CellSelector(ref.Get("selector"))
	}
	return "<unset>"
}

// DefaultParamRef has requests denied when their parameters are missing, in the first version of the kind.
func (Policy) DefaultParamRef(ref document.Value) {
	if !isSet(ref.Get("parameterNotFoundAction")) {
		ref.SetString("parameterNotFoundAction", "Deny")
	}
}
