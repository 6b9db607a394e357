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
	c.fixedSpec(name, spec, fixedFlowSchemas)
	return c.Causes
}

// fixedSpec compares objects that the server depends on with their only permitted spec,
// given as canonical JSON.
func (c *causes) fixedSpec(name string, spec document.Value, fixed map[string]string) {
	if want := fixed[name]; want != "" && string(spec.AppendJSON(nil)) != want {
		c.Invalid(spec, "spec of '"+name+"' must equal the fixed value")
	}
}

// oneOf refuses a missing or unsupported text in a member.
func (c *causes) oneOf(v document.Value, name string, supported ...string) {
	if text := v.Get(name); !slices.Contains(supported, text.Text()) {
		c.NotSupportedAt(member(v, name), text, supported...)
	}
}
