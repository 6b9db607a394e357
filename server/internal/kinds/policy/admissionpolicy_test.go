package policy_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestValidatingAdmissionPolicy(t *testing.T) {
	const head = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: p.example.com}\n"
	const rules = "matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]}"
	spec := func(more string) string { return "spec: {" + rules + ", " + more + "}" }
	rule := func(more string) string { return spec("validations: [{" + more + "}]") }
	runCreate(t, head, []createCase{
		{"fine", rule("expression: 'object.spec.x > 1'"), ""},
		{"nothing", "spec: {}", "spec.matchConstraints: Required; spec.validations: Required; spec.auditAnnotations: Required"},
		{"no rules", "spec: {matchConstraints: {}, validations: [{expression: 'true'}]}", "spec.matchConstraints.resourceRules: Required"},
		{"names twice", strings.Replace(rule("expression: 'true'"), "{operations", "{resourceNames: [a, a, b/c], operations", 1), "spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate; spec.matchConstraints.resourceRules[0].resourceNames[2]: Invalid"},
		{"wildcards", strings.Replace(rule("expression: 'true'"), "[pods]", "['*/*', pods]", 1), "spec.matchConstraints.resourceRules[0].resources: Invalid"},
		{"not a condition", rule("expression: '1'"), "spec.validations[0].expression: Invalid"},
		{"no params", rule("expression: 'params == null'"), "spec.validations[0].expression: Invalid"},
		{"params", spec("paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: 'params == null'}]"), ""},
		{"odd kind", spec("paramKind: {apiVersion: a/b/c, kind: -}, validations: [{expression: 'true'}]"), "spec.paramKind.apiVersion: Invalid; spec.paramKind.kind: Invalid"},
		{"no kind", spec("paramKind: {}, validations: [{expression: 'true'}]"), "spec.paramKind.apiVersion: Required; spec.paramKind.kind: Required"},
		{"everything seen", rule("expression: \"request.userInfo.groups.exists(g, g == 'a') && namespaceObject.metadata.name != '' && oldObject == null && authorizer.path('/x').check('get').allowed() && authorizer.requestResource.check('y').reason() == ''\""), ""},
		{"messages", rule("expression: 'true', messageExpression: '1'"), "spec.validations[0].messageExpression: Invalid"},
		{"messages without authorizer", rule("expression: 'true', messageExpression: 'authorizer.requestResource.check(\"y\").reason()'"), "spec.validations[0].messageExpression: Invalid"},
		{"lines", rule("expression: 'true', message: \"a\\nb\", reason: Unauthorized"), "spec.validations[0].message: Invalid; spec.validations[0].reason: NotSupported"},
		{"blank", rule("expression: ' ', message: ' ', messageExpression: ' '"), "spec.validations[0].expression: Required; spec.validations[0].messageExpression: Invalid; spec.validations[0].message: Invalid"},
		{"variables", spec("variables: [{name: a, expression: '1'}, {name: b, expression: 'variables.a + 1'}], validations: [{expression: 'variables.b > 1'}]"), ""},
		{"typed variables", spec("variables: [{name: a, expression: '1'}], validations: [{expression: \"variables.a == 'x'\"}]"), "spec.validations[0].expression: Invalid"},
		{"later variables", spec("variables: [{name: a, expression: 'variables.b'}, {name: b, expression: '1'}], validations: [{expression: 'true'}]"), "spec.variables[0].expression: Invalid"},
		{"odd variables", spec("variables: [{name: in, expression: ''}, {name: a-b, expression: '1'}], validations: [{expression: 'true'}]"), "spec.variables[0].name: Invalid; spec.variables[0].expression: Required; spec.variables[1].name: Invalid"},
		{"conditions", spec("matchConditions: [{name: a, expression: 'request.name'}, {name: a, expression: 'variables.x'}, {}], validations: [{expression: 'true'}]"),
			"spec.matchConditions[0].expression: Invalid; spec.matchConditions[1].expression: Invalid; spec.matchConditions[1].name: Duplicate; spec.matchConditions[2].expression: Required; spec.matchConditions[2].name: Required"},
		{"annotations", spec("auditAnnotations: [{key: a, valueExpression: \"has(object.x) ? 'y' : string(1)\"}, {key: a, valueExpression: '1'}, {key: -, valueExpression: 'null'}]"),
			"spec.auditAnnotations[1].valueExpression: Invalid; spec.auditAnnotations[1].key: Duplicate; spec.auditAnnotations[2].key: Invalid"},
	})
	many := ""
	for i := range 65 {
		many += fmt.Sprintf("{name: a%d, expression: 'true'},", i)
	}
	runCreate(t, head, []createCase{{"too many conditions", spec("matchConditions: [" + many + "], validations: [{expression: 'true'}]"), "spec.matchConditions: TooMany"}})
	runUpdate(t, head, []updateCase{
		{"kept conditions", spec("matchConditions: [{name: a, expression: '1'}], validations: [{expression: 'true'}]"), spec("matchConditions: [{name: a, expression: '1'}], validations: [{expression: '!false'}]"), ""},
	})
	runCells(t, head, []cellCase{
		{"none", rule("expression: 'true'"), "ParamKind", "<unset>"},
		{"one", spec("paramKind: {apiVersion: v1, kind: ConfigMap}, validations: [{expression: 'true'}]"), "ParamKind", "v1/ConfigMap"},
		{"one", rule("expression: 'true'"), "Validations", int64(1)},
	})
}

func TestValidatingAdmissionPolicyBinding(t *testing.T) {
	const head = "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\nmetadata: {name: b}\n"
	spec := func(more string) string { return "spec: {policyName: p, " + more + "}" }
	ref := func(more string) string { return spec("validationActions: [Deny], paramRef: {" + more + "}") }
	runCreate(t, head, []createCase{
		{"fine", spec("validationActions: [Deny, Audit]"), ""},
		{"nothing", "spec: {}", "spec.policyName: Required; spec.validationActions: Required"},
		{"repeated", spec("validationActions: [Deny, Warn, Warn, Log]"), "spec.validationActions[2]: Duplicate; spec.validationActions[3]: NotSupported; spec.validationActions: Invalid"},
		{"odd name", "spec: {policyName: P_, validationActions: [Audit]}", "spec.policyName: Invalid"},
		{"no reference", ref(""), "spec.paramRef: Required; spec.paramRef.parameterNotFoundAction: Required"},
		{"both", ref("name: a, selector: {}, parameterNotFoundAction: Allow"), "spec.paramRef.name: Forbidden; spec.paramRef.selector: Forbidden"},
		{"odd", ref("name: a/b, parameterNotFoundAction: Wait"), "spec.paramRef.name: Invalid; spec.paramRef.parameterNotFoundAction: NotSupported"},
		{"odd rules", spec("validationActions: [Deny], matchResources: {resourceRules: [{operations: [CREATE]}]}"),
			"spec.matchResources.resourceRules[0].apiGroups: Required; spec.matchResources.resourceRules[0].apiVersions: Required; spec.matchResources.resourceRules[0].resources: Required"},
	})
	runCells(t, head, []cellCase{
		{"none", spec("validationActions: [Deny]"), "ParamRef", "<unset>"},
		{"any", ref("name: a, parameterNotFoundAction: Deny"), "ParamRef", "*/a"},
		{"one", ref("name: a, namespace: b, parameterNotFoundAction: Deny"), "ParamRef", "b/a"},
		{"labels", ref("selector: {matchLabels: {a: b}}, parameterNotFoundAction: Deny"), "ParamRef", "a=b"},
	})
}

func TestMutatingAdmissionPolicy(t *testing.T) {
	const head = "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: p.example.com}\n"
	const rules = "matchConstraints: {resourceRules: [{operations: [CREATE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]}"
	spec := func(more string) string { return "spec: {reinvocationPolicy: Never, " + rules + ", " + more + "}" }
	apply := func(text string) string {
		return spec("mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: '" + text + "'}}]")
	}
	patch := func(text string) string {
		return spec("mutations: [{patchType: JSONPatch, jsonPatch: {expression: '" + text + "'}}]")
	}
	runCreate(t, head, []createCase{
		{"fine", apply("Object{spec: Object.spec{hostname: object.metadata.name}}"), ""},
		{"nothing", "spec: {}", "spec.matchConstraints: Required; spec.mutations: Required; spec.reinvocationPolicy: Required"},
		{"deletes", strings.Replace(apply("Object{}"), "[CREATE]", "[CREATE, DELETE]", 1), "spec.matchConstraints.resourceRules.operations: NotSupported"},
		{"not an object", apply(`{"a": 1}`), "spec.mutations[0].applyConfiguration.expression: Invalid"},
		{"part of an object", apply("Object.spec{}"), "spec.mutations[0].applyConfiguration.expression: Invalid"},
		{"patch", patch(`[JSONPatch{op: "remove", path: "/spec/" + jsonpatch.escapeKey("a/b")}]`), ""},
		{"odd patch", patch(`[JSONPatch{op: "remove", where: "/spec"}]`), "spec.mutations[0].jsonPatch.expression: Invalid"},
		{"one operation", patch(`JSONPatch{op: "remove"}`), "spec.mutations[0].jsonPatch.expression: Invalid"},
		{"other member", spec("mutations: [{patchType: JSONPatch, applyConfiguration: {expression: x}}]"), "spec.mutations[0].jsonPatch: Required; spec.mutations[0].applyConfiguration: Invalid"},
		{"no text", spec("mutations: [{patchType: JSONPatch, jsonPatch: {}}]"), "spec.mutations[0].jsonPatch.expression: Required"},
		{"odd type", spec("mutations: [{patchType: Merge}, {}]"), "spec.mutations[0].patchType: NotSupported; spec.mutations[1].patchType: Required"},
	})
	runCells(t, head, []cellCase{{"one", apply("Object{}"), "Mutations", int64(1)}})
	runCreate(t, strings.Replace(head, "Policy", "PolicyBinding", 1), []createCase{
		{"fine", "spec: {policyName: p}", ""},
		{"nothing", "spec: {}", "spec.policyName: Required"},
		{"deletes", "spec: {policyName: p, matchResources: {resourceRules: [{operations: [DELETE], apiGroups: [''], apiVersions: [v1], resources: [pods]}]}}", "spec.matchResources.resourceRules.operations: NotSupported"},
	})
}
