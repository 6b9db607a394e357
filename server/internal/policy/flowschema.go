package policy

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// fixedFlowSchemas are the fixed specs of the schemas with these names, so that
// administrators always get through and every request matches something.
var fixedFlowSchemas = map[string]string{
	"exempt": `{"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1,"rules":[` +
		`{"subjects":[{"kind":"Group","group":{"name":"system:masters"}}],` + fixedRules + `}]}`,
	"catch-all": `{"priorityLevelConfiguration":{"name":"catch-all"},"matchingPrecedence":10000,"distinguisherMethod":{"type":"ByUser"},"rules":[` +
		`{"subjects":[{"kind":"Group","group":{"name":"system:unauthenticated"}},{"kind":"Group","group":{"name":"system:authenticated"}}],` + fixedRules + `}]}`,
}

const fixedRules = `"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],` +
	`"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]`

// ValidateFlowSchema checks that a fixed schema is what it has to be.
func (Policy) ValidateFlowSchema(obj, _ document.Value) []schema.Cause {
	var c causes
	name, spec := obj.At("metadata", "name").Text(), obj.Get("spec")
	if want := fixedFlowSchemas[name]; want != "" && string(spec.AppendJSON(nil)) != want {
		c.Invalid(spec, "spec of '"+name+"' must equal the fixed value")
	}
	return c.Causes
}

// oneOf refuses a missing or unsupported text in a member.
func (c *causes) oneOf(v document.Value, name string, supported ...string) {
	if text := v.Get(name); !slices.Contains(supported, text.Text()) {
		c.NotSupportedAt(member(v, name), text, supported...)
	}
}
