package admission_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	mutatingPolicyPath  = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies"
	mutatingBindingPath = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings"
)

// Mutating policies change the options of connections, and all validating plug-ins see what
// becomes of them. An option that is a list has one owner, so only a patch changes it.
func TestMutatingPolicyOfConnections(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.PodsPath, harness.PodBody)
	connections := func(operation, resources string) string {
		return onOperations(operation, "", "v1", resources, "") + ","
	}
	h.MutateFor("a-container", connections(`"CONNECT"`, `"pods/exec","pods/attach"`)+`"mutations":[`+
		harness.ConfigurationChange(`Object{container: "of-" + request.subResource, stdin: false}`)+`]`)
	h.MutateFor("b-command", connections(`"*"`, `"pods/exec"`)+`"matchConditions":[{"name":"sh","expression":"'sh' in object.command"}],"mutations":[`+
		patchChange(`[JSONPatch{op: "replace", path: "/command", value: ["ls", string(object.container)]}]`)+`]`)
	h.MutateFor("c-ports", connections(`"CONNECT"`, `"pods/portforward"`)+`"mutations":[`+patchChange(`[JSONPatch{op: "add", path: "/ports", value: [8080]}]`)+`]`)
	h.MutateFor("d-path", connections(`"CONNECT"`, `"nodes/proxy","services/proxy","pods/proxy"`)+`"mutations":[`+harness.ConfigurationChange(`Object{path: "/only"}`)+`]`)
	h.MutateFor("e-list", connections(`"CONNECT"`, `"pods/exec"`)+`"matchConditions":[{"name":"id","expression":"'id' in object.command"}],"mutations":[`+harness.ConfigurationChange(`Object{command: ["x"]}`)+`]`)
	h.MutateFor("f-kind", connections(`"CONNECT"`, `"pods/exec"`)+`"matchConditions":[{"name":"kind","expression":"'kind' in object.command"}],"mutations":[`+patchChange(`[JSONPatch{op: "replace", path: "/kind", value: "PodAttachOptions"}]`)+`]`)
	policyFor(h, "shown", onOperations(`"CONNECT"`, "", "v1", `"*/*"`, "")+`,"validations":[{"expression":"false","messageExpression":
		"object.kind + ' ' + (has(object.path) ? object.path : has(object.ports) ? string(object.ports[0]) : object.container + (has(object.command) ? ' ' + object.command.join(' ') : '')) + (has(object.stdin) && object.stdin ? ' with input' : '')"}]`, denies)
	h.Run(t, []harness.Step{
		{"exec", "POST", harness.PodsPath + "/p/exec?container=c&command=top&stdin=true", "", "", 422, "denied request: PodExecOptions of-exec top\""},
		{"another command", "GET", harness.PodsPath + "/p/exec?command=sh&command=-c", "", "", 422, "denied request: PodExecOptions of-exec ls of-exec\""},
		{"attach", "POST", harness.PodsPath + "/p/attach?container=c&stdin=true", "", "", 422, "denied request: PodAttachOptions of-attach\""},
		{"portforward", "POST", harness.PodsPath + "/p/portforward?ports=80", "", "", 422, "denied request: PodPortForwardOptions 8080\""},
		{"a node", "GET", "/api/v1/nodes/n/proxy/exec", "", "", 422, "denied request: NodeProxyOptions /only\""},
		{"a service", "PUT", "/api/v1/namespaces/default/services/s/proxy", "", "", 422, "denied request: ServiceProxyOptions /only\""},
		{"a pod", "DELETE", harness.PodsPath + "/p/proxy/x/y", "", "", 422, "denied request: PodProxyOptions /only\""},
		{"a whole list", "POST", harness.PodsPath + "/p/exec?command=id", "", "", 403, "may not mutate atomic arrays, maps or structs: .command"},
		{"another kind", "POST", harness.PodsPath + "/p/exec?command=kind", "", "", 403, "policy 'f-kind' with binding 'f-kind' denied request"},
	})
}

// Policies of both kinds read custom parameters: by name or by labels, of the namespace of
// the object, of one that the binding names, or of none; and without one they do what the
// binding says.
func TestCustomParametersOfBothKinds(t *testing.T) {
	h := harness.Start(t, nil)
	for plural, kind := range map[string]string{"limits": "Limit", "rules": "Rule"} {
		scope := map[string]string{"Limit": "Namespaced", "Rule": "Cluster"}[kind]
		h.Create(harness.DefinitionsPath, `{"metadata":{"name":"`+plural+`.shop.example.com"},"spec":{"group":"shop.example.com","scope":"`+scope+`","names":{"plural":"`+plural+`","kind":"`+kind+`"},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"text":{"type":"string","default":"none"}}}}}]}}`)
	}
	const limits, rules = "/apis/shop.example.com/v1/namespaces/default/limits", "/apis/shop.example.com/v1/rules"
	h.AwaitCode(limits, 200)
	h.AwaitCode(rules, 200)
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"other"}}`)
	custom := func(kind, name, more string) string {
		return `{"apiVersion":"shop.example.com/v1","kind":"` + kind + `","metadata":{"name":"` + name + `","labels":{"a":"b"}}` + more + `}`
	}
	h.MutateFor("m", `"paramKind":{"apiVersion":"shop.example.com/v1","kind":"Limit"},"mutations":[`+harness.ConfigurationChange(`Object{metadata: Object.metadata{annotations: {"by-" + params.metadata.name: params.text}}}`)+`]`)
	policyFor(h, "v", `"paramKind":{"apiVersion":"shop.example.com/v1","kind":"Limit"},"validations":[{"expression":"params.text != 'never'","messageExpression":"params.metadata.name + ' of ' + params.metadata.namespace"}]`, denies)
	bind := func(ref string) {
		t.Helper()
		for _, path := range []string{bindingPath + "/v", mutatingBindingPath + "/m"} {
			h.Merge(path, `{"spec":{"paramRef":null}}`).Expect(t, 200, "")
			h.Merge(path, `{"spec":{"paramRef":`+ref+`}}`).Expect(t, 200, "")
		}
	}
	sends := func(name, namespace string, code int, want string) {
		t.Helper()
		got := h.Post("/api/v1/namespaces/"+namespace+"/configmaps?dryRun=All", `{"metadata":{"name":"x"}}`)
		if got.Code != code || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s: %d %s\nwant %d with %s", name, got.Code, got.Body, code, want)
		}
	}
	const missing = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
	bind(`{"name":"one","parameterNotFoundAction":"Allow"}`)
	sends("not there", "default", 201, `"metadata":{"name":"x","namespace":"default","uid"`)
	bind(`{"name":"one","parameterNotFoundAction":"Deny"}`)
	sends("not there, but needed", "default", 403, "policy 'm' with binding 'm' denied request: "+missing)
	h.Merge(mutatingBindingPath+"/m", `{"spec":{"paramRef":{"parameterNotFoundAction":"Allow"}}}`).Expect(t, 200, "")
	sends("needed by the other", "default", 422, "'v' with binding 'v' denied request: "+missing)
	h.Create(limits, custom("Limit", "one", ""))
	sends("there", "default", 201, `"annotations":{"by-one":"none"}`)
	sends("of another namespace", "other", 422, missing)
	bind(`{"name":"one","namespace":"default","parameterNotFoundAction":"Deny"}`)
	sends("of a fixed namespace", "other", 201, `"annotations":{"by-one":"none"}`)
	bind(`{"selector":{"matchLabels":{"a":"b"}},"parameterNotFoundAction":"Deny"}`)
	h.Create(limits, custom("Limit", "two", `,"text":"two"`))
	sends("all with a label", "default", 201, `"annotations":{"by-one":"none","by-two":"two"}`)
	sends("none there", "other", 403, missing)
	h.Merge(limits+"/two", `{"text":"never"}`).Expect(t, 200, "")
	sends("one refuses", "default", 422, "denied request: two of default")
	bind(`{"selector":{"matchLabels":{"a":"c"}},"parameterNotFoundAction":"Allow"}`)
	sends("none with the label", "default", 201, `"metadata":{"name":"x","namespace":"default","uid"`)
	bind(`{"selector":{},"namespace":"other","parameterNotFoundAction":"Allow"}`)
	sends("none in the fixed namespace", "default", 201, `"metadata":{"name":"x","namespace":"default","uid"`)

	for _, path := range []string{policyPath + "/v", mutatingPolicyPath + "/m"} {
		h.Merge(path, `{"spec":{"paramKind":{"kind":"Rule"}}}`).Expect(t, 200, "")
	}
	bind(`{"name":"r","namespace":"default","parameterNotFoundAction":"Allow"}`)
	sends("a namespace for a kind without", "default", 403, "paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	h.Merge(policyPath+"/v", `{"spec":{"validations":[{"expression":"params.text != 'never'","message":"never"}]}}`).Expect(t, 200, "")
	bind(`{"name":"r","parameterNotFoundAction":"Deny"}`)
	sends("no rule", "default", 403, missing)
	h.Create(rules, custom("Rule", "r", `,"text":"first"`))
	sends("a rule", "other", 201, `"annotations":{"by-r":"first"}`)
	h.Merge(rules+"/r", `{"text":"never"}`).Expect(t, 200, "")
	sends("it refuses", "other", 422, "denied request: never")
}
