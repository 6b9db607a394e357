package server_test

import (
	"fmt"
	"strings"
	"testing"
)

const (
	policyPath  = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	bindingPath = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
	mapsPath    = "/api/v1/namespaces/default/configmaps"
)

// policyFor makes a policy for creates and updates of config maps, with a binding.
func (h *harness) policyFor(name, spec, binding string) {
	h.t.Helper()
	const rules = `"matchConstraints":{"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}`
	if !strings.Contains(spec, "matchConstraints") {
		spec = rules + "," + spec
	}
	for path, body := range map[string]string{policyPath: `{"metadata":{"name":"` + name + `"},"spec":{` + spec + `}}`,
		bindingPath: `{"metadata":{"name":"` + name + `"},"spec":{"policyName":"` + name + `",` + binding + `}}`} {
		if got := h.post(path, body); got.code != 201 {
			h.t.Fatalf("%s: %d %s", path, got.code, got.body)
		}
	}
}

// wantsMap sends a config map and compares the answer: a code, and a part of its text.
func (h *harness) wantsMap(name, data string, code int, text string) {
	h.t.Helper()
	got := h.post(mapsPath, `{"metadata":{"name":"`+name+`"},"data":{`+data+`}}`)
	if got.code != code || !strings.Contains(string(got.body), text) {
		h.t.Errorf("%s {%s}: %d %s, want %d %s", name, data, got.code, got.body, code, text)
	}
}

// TestValidatingPolicy goes through the parts of policies: what they match, what their
// expressions see, and what a broken rule leads to.
func TestValidatingPolicy(t *testing.T) {
	h := startServer(t, nil)
	h.policyFor("size.example.com", `"variables":[{"name":"n","expression":"size(object.data)"},{"name":"few","expression":"variables.n < 3"}],
		"matchConditions":[{"name":"mine","expression":"object.metadata.name.startsWith('a') && request.operation in ['CREATE', 'UPDATE']"}],
		"validations":[{"expression":"variables.few","messageExpression":"'wants less than 3, got ' + string(variables.n)"},
			{"expression":"!has(object.data.x) || oldObject != null","message":" no x at first ","reason":"Forbidden"},
			{"expression":"namespaceObject.metadata.name == request.namespace && request.userInfo.username != ''"},
			{"expression":"!('y' in object.data)"}]`, `"validationActions":["Deny"]`)
	const by = `ValidatingAdmissionPolicy 'size.example.com' with binding 'size.example.com' denied request: `
	h.wantsMap("other", `"a":"","b":"","c":""`, 201, "")
	h.wantsMap("a1", `"a":""`, 201, "")
	h.wantsMap("a2", `"a":"","b":"","c":""`, 422, `"status":"Failure","message":"configmaps \"a2\" is forbidden: `+by+`wants less than 3, got 3","reason":"Invalid","details":{"name":"a2","kind":"configmaps","causes":[{"message":"`+by+`wants less than 3, got 3"}]},"code":422}`)
	h.wantsMap("a3", `"x":""`, 403, by+`no x at first","reason":"Forbidden"`)
	h.wantsMap("a4", `"y":""`, 422, by+`failed expression: !('y' in object.data)`)
	h.mergePatch(mapsPath+"/a1", `{"data":{"x":"1"}}`)
	if got := h.send("PATCH", mapsPath+"/a1", "application/merge-patch+json", []byte(`{"data":{"z":"1"}}`)); got.code != 422 {
		t.Errorf("an update with too much: %d %s", got.code, got.body)
	}
	if got := h.remove(mapsPath+"/a1", ""); got.code != 200 {
		t.Errorf("a delete: %d %s", got.code, got.body)
	}
	h.mergePatch(policyPath+"/size.example.com", `{"spec":{"validations":[{"expression":"false","message":"never"}]}}`)
	h.wantsMap("a5", ``, 422, "never") // the next request follows the change
	h.remove(bindingPath+"/size.example.com", "")
	h.wantsMap("a5", ``, 201, "")
}

// TestPolicyFailures checks expressions without a value, and the cost of others.
func TestPolicyFailures(t *testing.T) {
	h := startServer(t, nil)
	const missing = `"validations":[{"expression":"object.data.missing == ''"}]`
	h.policyFor("ignore", `"failurePolicy":"Ignore",`+missing, `"validationActions":["Deny"]`)
	h.wantsMap("a", ``, 201, "")
	h.policyFor("warn", missing, `"validationActions":["Warn","Audit"]`)
	got := h.post(mapsPath, `{"metadata":{"name":"b"},"data":{}}`)
	if warning := got.header.Get("Warning"); got.code != 201 || !strings.HasPrefix(warning, `299 - "Validation failed for ValidatingAdmissionPolicy 'warn' with binding 'warn': expression 'object.data.missing == ''' resulted in error: no such key: `) {
		t.Errorf("%d %s, warning %s", got.code, got.body, warning)
	}
	h.policyFor("fail", missing, `"validationActions":["Deny"]`)
	h.wantsMap("c", ``, 422, "expression 'object.data.missing == ''' resulted in error: no such key: ")
	h.remove(bindingPath+"/fail", "")
	big := strings.Repeat("x", 100)
	var data []string
	for i := range 2000 {
		data = append(data, fmt.Sprintf(`"k%d":"%s"`, i, big))
	}
	h.policyFor("cost", `"validations":[{"expression":"object.data.all(a, object.data.all(b, object.data[a] == object.data[b] || a != b))"}]`, `"validationActions":["Deny"]`)
	h.wantsMap("d", strings.Join(data, ","), 422, "actual cost limit exceeded")
}

// TestPolicyParameters reads parameters of built-in and custom kinds.
func TestPolicyParameters(t *testing.T) {
	h := startServer(t, nil)
	spec := `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('p-')"}],
		"validations":[{"expression":"params == null || size(object.data) <= int(params.data.most)","messageExpression":"'at most ' + params.data.most"}]`
	h.policyFor("named", spec, `"validationActions":["Deny"],"paramRef":{"name":"limit","parameterNotFoundAction":"Deny"}`)
	h.wantsMap("p-1", ``, 422, "policy 'named' with binding 'named' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"[7:])
	h.mergePatch(bindingPath+"/named", `{"spec":{"paramRef":{"parameterNotFoundAction":"Allow"}}}`)
	h.wantsMap("p-1", ``, 201, "")
	h.wantsMap("limit", `"most":"1"`, 201, "")
	h.wantsMap("p-2", `"a":"","b":""`, 422, "at most 1")
	h.mergePatch(mapsPath+"/limit", `{"data":{"most":"2"}}`)
	h.wantsMap("p-2", `"a":"","b":""`, 201, "")
	h.mergePatch(mapsPath+"/limit", `{"metadata":{"labels":{"limit":"yes"}}}`)
	h.mergePatch(bindingPath+"/named", `{"spec":{"paramRef":{"name":null,"selector":{"matchLabels":{"limit":"yes"}}}}}`)
	h.wantsMap("p-3", `"a":"","b":"","c":""`, 422, "at most 2")
	h.mergePatch(bindingPath+"/named", `{"spec":{"paramRef":null}}`)
	h.wantsMap("p-3", `"a":"","b":"","c":""`, 201, "")

	h.mergePatch(policyPath+"/named", `{"spec":{"paramKind":{"apiVersion":"shop.example.com/v1","kind":"Limit"}}}`)
	h.wantsMap("p-4", ``, 422, "ValidatingAdmissionPolicy 'named' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'shop.example.com/v1, Kind=Limit'")
}

// TestPolicyRights asks for rights in an expression.
func TestPolicyRights(t *testing.T) {
	h := startServer(t, nil)
	h.policyFor("rights", `"validations":[
		{"expression":"authorizer.requestResource.check('create').allowed()"},
		{"expression":"authorizer.group('').resource('pods').namespace('default').name('x').check('get').allowed() && authorizer.path('/healthz').check('get').allowed()"},
		{"expression":"!authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').check('list').allowed()"}]`, `"validationActions":["Deny"]`)
	h.wantsMap("a", ``, 201, "")
	h.mergePatch(policyPath+"/rights", `{"spec":{"validations":[{"expression":"authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').check('list').allowed()"}]}}`)
	h.wantsMap("b", ``, 422, "failed expression: authorizer")
}

// TestPolicyTypes awaits the mistakes of types in the status of policies.
func TestPolicyTypes(t *testing.T) {
	h := withControllers(t, "validatingadmissionpolicy-status-controller")
	const rules = `"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments","replicasets","deployments/status"]}]}`
	h.policyFor("wrong", rules+`,"variables":[{"name":"n","expression":"object.spec.replicas"}],"validations":[
		{"expression":"object.spec.replicas > '1'","messageExpression":"'got ' + variables.n"},
		{"expression":"object.metadata.namespace == request.namespace && object.spec.template.spec.containers.all(c, c.image != '') && has(object.status)"}]`, `"validationActions":["Deny"]`)
	h.policyFor("right", rules+`,"validations":[{"expression":"object.spec.replicas > 1"}]`, `"validationActions":["Deny"]`)
	h.awaitText(policyPath+"/right", `"status":{"observedGeneration":1,"typeChecking":{}}`)
	h.awaitText(policyPath+"/wrong", `"fieldRef":"spec.validations[0].messageExpression","warning":"apps/v1, Kind=Deployment: ERROR: <input>:1:8: found no matching overload for '_+_' applied to '(string, int)'`)
	got := string(h.get(policyPath + "/wrong").body)
	for _, text := range []string{`"fieldRef":"spec.validations[0].expression","warning":"apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'`,
		`\napps/v1, Kind=ReplicaSet: ERROR: `} {
		if !strings.Contains(got, text) {
			t.Errorf("%s is not in %s", text, got)
		}
	}
	if strings.Contains(got, "validations[1]") {
		t.Errorf("a right expression has a warning: %s", got)
	}
}

// TestWebhookMatchConditions calls webhooks only about requests that meet their conditions.
func TestWebhookMatchConditions(t *testing.T) {
	h := startServer(t, nil)
	v := newReviewer(t, nil)
	const of = `,"matchConditions":[{"name":"a","expression":"object.metadata.name.startsWith('a')"},{"name":"b","expression":"request.userInfo.username == 'admin' && object.data.x == 'y'"}]`
	rule := reviewRule(`"CREATE"`, "", "v1", "configmaps")
	h.validateBy(v, "check", rule, of)
	h.mutateBy(v, "change", rule, `,"failurePolicy":"Ignore"`+of)
	for _, c := range []struct {
		name, data string
		code, n    int
		text       string
	}{
		{"b1", `"x":"y"`, 201, 0, ""},
		{"a1", `"x":"y"`, 201, 2, ""},
		{"a2", `"x":"z"`, 201, 0, ""},
		{"a3", ``, 403, 0, `configmaps \"a3\" is forbidden: expression 'request.userInfo.username == 'admin' && object.data.x == 'y'' resulted in error: no such key: `},
		{"b2", ``, 201, 0, ""},
	} {
		h.wantsMap(c.name, c.data, c.code, c.text)
		if _, n := v.last(); n != c.n {
			t.Errorf("%s: %d reviews, want %d", c.name, n, c.n)
		}
	}
}

// mutateFor makes a mutating policy for creates and updates of config maps, with a binding.
func (h *harness) mutateFor(name, spec string) {
	h.t.Helper()
	const rules = `"matchConstraints":{"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},`
	const path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic"
	if !strings.Contains(spec, "matchConstraints") {
		spec = rules + spec
	}
	if !strings.Contains(spec, "reinvocationPolicy") {
		spec += `,"reinvocationPolicy":"Never"`
	}
	h.create(path+"ies", `{"metadata":{"name":"`+name+`"},"spec":{`+spec+`}}`)
	h.create(path+"ybindings", `{"metadata":{"name":"`+name+`"},"spec":{"policyName":"`+name+`"}}`)
}

func configurationChange(text string) string {
	return fmt.Sprintf(`{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":%q}}`, text)
}

func patchChange(text string) string {
	return fmt.Sprintf(`{"patchType":"JSONPatch","jsonPatch":{"expression":%q}}`, text)
}

// TestMutatingPolicy changes objects by configurations and patches.
func TestMutatingPolicy(t *testing.T) {
	h := startServer(t, nil)
	h.mutateFor("a-label", `"variables":[{"name":"by","expression":"request.userInfo.username"}],"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('l')"}],
		"mutations":[`+configurationChange(`Object{metadata: Object.metadata{labels: {"by": variables.by}}, data: {"x": "1"}}`)+`,`+
		patchChange(`[JSONPatch{op: "test", path: "/data/x", value: "1"}, JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a.b/c"), value: "d"}]`)+`,`+
		patchChange(`[JSONPatch{op: "test", path: "/data/x", value: "2"}, JSONPatch{op: "remove", path: "/data"}]`)+`]`)
	h.wantsMap("l1", `"y":"2"`, 201, `"labels":{"a.b/c":"d","by":"admin"}`)
	h.wantsMap("l2", `"y":"2"`, 201, `"data":{"x":"1","y":"2"}`)
	h.wantsMap("o1", `"y":"2"`, 201, `"data":{"y":"2"}`)
	h.mutateFor("wrong", `"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('w')"}],"mutations":[`+configurationChange(`Object{data: Object.spec{}}`)+`]`)
	h.wantsMap("w1", ``, 403, `"message":"policy 'wrong' with binding 'wrong' denied request: type mismatch: unexpected type name \"Object.spec\", expected \"Object.data\", which matches field name path from root Object type","reason":"Invalid"`)
	h.mutateFor("unknown", `"failurePolicy":"Ignore","matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('u')"}],"mutations":[`+configurationChange(`Object{wrong: 1}`)+`]`)
	h.wantsMap("u1", ``, 201, "")
	h.mutateFor("value", `"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('v')"}],"mutations":[`+configurationChange(`Object{wrong: object.data.none}`)+`]`)
	h.wantsMap("v1", ``, 403, `resulted in error: no such key`)
}

// TestMutatingPolicyWorkloads merges configurations into lists by their keys, and refuses
// those of parts that have one owner.
func TestMutatingPolicyWorkloads(t *testing.T) {
	h := startServer(t, nil)
	const rules = `"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}]},`
	named := func(c string) string {
		return `"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('` + c + `')"}],`
	}
	h.mutateFor("side", rules+named("s")+`"mutations":[`+configurationChange(`Object{spec: Object.spec{replicas: object.spec.replicas + 1, template: Object.spec.template{spec: Object.spec.template.spec{
		containers: [Object.spec.template.spec.containers{name: "side", image: "side:1"}]}}}}`)+`]`)
	h.mutateFor("whole", rules+named("w")+`"mutations":[`+configurationChange(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
		containers: [Object.spec.template.spec.containers{name: "a", command: ["x"]}]}}}}`)+`]`)
	deployment := func(name string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a:1"}]}}}}`
	}
	const path = "/apis/apps/v1/namespaces/default/deployments"
	for name, want := range map[string][]string{
		"s1": {`"replicas":3`, `"containers":[{"name":"a","image":"a:1",`, `{"name":"side","image":"side:1","resources":{},"terminationMessagePath":"/dev/termination-log"`},
		"w1": {`denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].command`},
	} {
		got := string(h.post(path, deployment(name)).body)
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %s lacks %s", name, got, text)
			}
		}
	}
}

// TestMutatingPolicyRounds applies a policy again after later changes, if it wants to.
func TestMutatingPolicyRounds(t *testing.T) {
	h := startServer(t, nil)
	v := newReviewer(t, func(_ string, request, response map[string]any) {
		response["patchType"], response["patch"] = "JSONPatch", []byte(`[{"op":"add","path":"/data/hook","value":"1"}]`)
	})
	count := func(name, key string) string {
		return `"mutations":[` + configurationChange(`Object{data: {"`+key+`": has(object.data.`+key+`) ? object.data.`+key+` + "i" : "i"}}`) + `],"reinvocationPolicy":"` + name + `"`
	}
	h.mutateFor("again", count("IfNeeded", "again"))
	h.mutateFor("once", count("Never", "once"))
	h.wantsMap("a", `"x":""`, 201, `"data":{"again":"ii","once":"i","x":""}`)
	h.mutateBy(v, "hook", reviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
	h.wantsMap("b", `"x":""`, 201, `"data":{"again":"ii","hook":"1","once":"i","x":""}`)
}

// TestPolicyReaders refuses policies whose author may not read their parameters.
func TestPolicyReaders(t *testing.T) {
	h := startServer(t, nil)
	h.create(rbacGroup+"clusterroles", roleOf("policies", `{"apiGroups":["admissionregistration.k8s.io"],"resources":["*"],"verbs":["*"]}`))
	h.create(rbacGroup+"clusterrolebindings", bindingOf("policies", "ClusterRole", "policies", toBob))
	policy := func(name, more string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{` + more + `"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"validations":[{"expression":"true"}]}}`
	}
	const params, ref = `"paramKind":{"apiVersion":"v1","kind":"Secret"},`, `"paramRef":{"name":"a","namespace":"default","parameterNotFoundAction":"Allow"},`
	binding := `{"metadata":{"name":"b"},"spec":{"policyName":"b",` + ref + `"validationActions":["Deny"]}}`
	h.each([]roleRequest{
		{"bob-token", "POST", policyPath, policy("a", ""), 201, ""},
		{"bob-token", "POST", policyPath, policy("b", params), 422, `spec.paramKind: Forbidden: user \"bob\" must have \"get\" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)`},
		{adminToken, "POST", policyPath, policy("b", params), 201, ""},
		{"bob-token", "POST", bindingPath, binding, 422, `spec.paramRef: Forbidden: user \"bob\" does not have \"get\" permission`},
		{adminToken, "POST", bindingPath, binding, 201, ""},
		{"bob-token", "PATCH", policyPath + "/b", `{"metadata":{"labels":{"a":"b"}}}`, 200, ""},
	})
}
