package policy

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// firstPrecedence is that of the schema named exempt, and of no other.
const firstPrecedence = 1

// every stands for all users, verbs, groups, resources, namespaces or paths.
const every = "*"

// fixedFlowSchemas are the specs that schemas of these names have to have, so
// that administrators always get through and every request matches something.
var fixedFlowSchemas = map[string]string{
	"exempt": `{"priorityLevelConfiguration":{"name":"exempt"},"matchingPrecedence":1,"rules":[` +
		`{"subjects":[{"kind":"Group","group":{"name":"system:masters"}}],` + fixedRules + `}]}`,
	"catch-all": `{"priorityLevelConfiguration":{"name":"catch-all"},"matchingPrecedence":10000,"distinguisherMethod":{"type":"ByUser"},"rules":[` +
		`{"subjects":[{"kind":"Group","group":{"name":"system:unauthenticated"}},{"kind":"Group","group":{"name":"system:authenticated"}}],` + fixedRules + `}]}`,
}

const fixedRules = `"resourceRules":[{"verbs":["*"],"apiGroups":["*"],"resources":["*"],"clusterScope":true,"namespaces":["*"]}],` +
	`"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]`

// flowVerbs are the verbs that rules may name.
var flowVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"}

// ValidateFlowSchema checks what a schema matches.
func (Policy) ValidateFlowSchema(obj, _ document.Value) []schema.Cause {
	var c causes
	name, spec := obj.At("metadata", "name").Text(), obj.Get("spec")
	if n, _ := spec.Get("matchingPrecedence").Int(); n == firstPrecedence && name != "exempt" {
		c.invalid(spec.Get("matchingPrecedence"), "only the schema named 'exempt' may have matchingPrecedence 1")
	}
	if method := spec.Get("distinguisherMethod"); isSet(method) {
		c.oneOf(method, "type", "ByNamespace", "ByUser")
	}
	for _, rule := range spec.Get("rules").Elements() {
		c.flowRule(rule)
	}
	c.fixedSpec(name, spec, fixedFlowSchemas)
	c.uniqueConditions(obj.At("status", "conditions"))
	return c
}

// oneOf refuses other texts in a member, none as well.
func (c *causes) oneOf(v document.Value, name string, supported ...string) {
	if text := v.Get(name); !slices.Contains(supported, text.Text()) {
		c.notSupportedAt(member(v, name), text, supported...)
	}
}

// fixedSpec holds objects that the server depends on to the one spec they may
// have, which is written as canonical JSON.
func (c *causes) fixedSpec(name string, spec document.Value, fixed map[string]string) {
	if want := fixed[name]; want != "" && string(spec.AppendJSON(nil)) != want {
		c.invalid(spec, "spec of '"+name+"' must equal the fixed value")
	}
}

func (c *causes) flowRule(rule document.Value) {
	for _, subject := range rule.Get("subjects").Elements() {
		c.flowSubject(subject)
	}
	resources, paths := rule.Get("resourceRules"), rule.Get("nonResourceRules")
	if resources.Len()+paths.Len() == 0 {
		c.required(rule.Path(), "at least one of resourceRules and nonResourceRules has to be non-empty")
	}
	for _, r := range resources.Elements() {
		c.flowVerbs(r.Get("verbs"))
		c.loneWildcard(r.Get("apiGroups"), "api groups")
		c.loneWildcard(r.Get("resources"), "resources")
		namespaces := r.Get("namespaces")
		if namespaces.Len() == 0 && !r.Get("clusterScope").Bool() {
			c.required(member(r, "namespaces"), "resource rules that are not cluster scoped must supply at least one namespace")
		}
		if !c.loneWildcard(namespaces, "namespaces") {
			for _, n := range namespaces.Elements() {
				c.format(n, "dns1123-label")
			}
		}
	}
	for _, r := range paths.Elements() {
		c.flowVerbs(r.Get("verbs"))
		if urls := r.Get("nonResourceURLs"); !c.loneWildcard(urls, "non-resource URLs") {
			for _, url := range urls.Elements() {
				c.flowPath(url)
			}
		}
	}
}

// loneWildcard reports whether a list has the wildcard, beside which it may have
// nothing.
func (c *causes) loneWildcard(list document.Value, what string) bool {
	found := false
	for _, v := range list.Elements() {
		found = found || v.Equals(every)
	}
	if found && list.Len() > 1 {
		c.invalid(list, "if '*' is present, must not specify other "+what)
	}
	return found
}

func (c *causes) flowVerbs(verbs document.Value) {
	if c.loneWildcard(verbs, "verbs") {
		return
	}
	for _, v := range verbs.Elements() {
		if !slices.Contains(flowVerbs, v.Text()) {
			c.notSupportedAt(verbs.Path(), verbs, flowVerbs...)
			return
		}
	}
}

func (c *causes) flowPath(v document.Value) {
	path := v.Text()
	switch stars := strings.Count(path, "*"); {
	case path == "":
		c.invalid(v, "must not be empty")
	case path == "/":
	case path[0] != '/':
		c.invalid(v, "must start with slash")
	case strings.Contains(path, " "):
		c.invalid(v, "must not contain white-space")
	case strings.Contains(path, "//"):
		c.invalid(v, "must not contain double slash")
	case stars > 1 || stars == 1 && !strings.HasSuffix(path, "/*"):
		c.invalid(v, "wildcard can only do suffix matching")
	}
}

// subjectMembers are the members that say who, by the kind that they are for.
var subjectMembers = [...]struct{ kind, member string }{{"User", "user"}, {"Group", "group"}, {"ServiceAccount", "serviceAccount"}}

func (c *causes) flowSubject(subject document.Value) {
	kind, known := subject.Get("kind").Text(), false
	for _, m := range subjectMembers {
		known = known || m.kind == kind
	}
	if !known {
		c.oneOf(subject, "kind", "Group", "ServiceAccount", "User")
		return
	}
	for _, m := range subjectMembers {
		switch v := subject.Get(m.member); {
		case m.kind == kind && !isSet(v):
			c.required(member(subject, m.member), m.member+" is required when subject kind is '"+kind+"'")
		case m.kind == kind:
			*c = append(*c, document.Validate(v, nil)...)
		case m.kind != kind && isSet(v):
			c.forbidden(v.Path(), m.member+" is forbidden when subject kind is not '"+m.kind+"'")
		}
	}
	if name := subject.At("serviceAccount", "name"); kind == "ServiceAccount" && !isEmpty(name) && !name.Equals(every) {
		c.format(name, "dns1123-subdomain")
	}
}

// CellFlowSchemaDistinguisherMethod shows what divides requests into flows.
func (Policy) CellFlowSchemaDistinguisherMethod(obj document.Value) any {
	return textOrNone(obj.At("spec", "distinguisherMethod", "type"))
}

// CellFlowSchemaMissingPriorityLevel shows the condition Dangling.
func (Policy) CellFlowSchemaMissingPriorityLevel(obj document.Value) any {
	if condition := obj.At("status", "conditions").ElementBy("type", "Dangling"); condition.Exists() {
		return condition.Get("status").Text()
	}
	return "?"
}
