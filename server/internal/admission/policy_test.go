package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	policyPath  = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
	bindingPath = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
)

// policyFor makes a policy for creates and updates of config maps, with a binding.
func policyFor(h *harness.Server, name, spec, binding string) {
	h.T.Helper()
	const rules = `"matchConstraints":{"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]}`
	if !strings.Contains(spec, "matchConstraints") {
		spec = rules + "," + spec
	}
	for path, body := range map[string]string{policyPath: `{"metadata":{"name":"` + name + `"},"spec":{` + spec + `}}`,
		bindingPath: `{"metadata":{"name":"` + name + `"},"spec":{"policyName":"` + name + `",` + binding + `}}`} {
		if got := h.Post(path, body); got.Code != 201 {
			h.T.Fatalf("%s: %d %s", path, got.Code, got.Body)
		}
	}
}

// wantsMap sends a config map and compares the answer: a code, and a part of its text.
func wantsMap(h *harness.Server, name, data string, code int, text string) {
	h.T.Helper()
	got := h.Post(harness.ConfigMaps, `{"metadata":{"name":"`+name+`"},"data":{`+data+`}}`)
	if got.Code != code || !strings.Contains(string(got.Body), text) {
		h.T.Errorf("%s {%s}: %d %s, want %d %s", name, data, got.Code, got.Body, code, text)
	}
}

// TestValidatingPolicy goes through the parts of policies: what they match, what their
// expressions see, and what a broken rule leads to.
func TestValidatingPolicy(t *testing.T) {
	h := harness.Start(t, nil)
	policyFor(h, "size.example.com", `"variables":[{"name":"n","expression":"size(object.data)"},{"name":"few","expression":"variables.n < 3"}],
		"matchConditions":[{"name":"mine","expression":"object.metadata.name.startsWith('a') && request.operation in ['CREATE', 'UPDATE']"}],
		"validations":[{"expression":"variables.few","messageExpression":"'wants less than 3, got ' + string(variables.n)"},
			{"expression":"!has(object.data.x) || oldObject != null","message":" no x at first ","reason":"Forbidden"},
			{"expression":"namespaceObject.metadata.name == request.namespace && request.userInfo.username != ''"},
			{"expression":"!('y' in object.data)"}]`, `"validationActions":["Deny"]`)
	const by = `ValidatingAdmissionPolicy 'size.example.com' with binding 'size.example.com' denied request: `
	wantsMap(h, "other", `"a":"","b":"","c":""`, 201, "")
	wantsMap(h, "a1", `"a":""`, 201, "")
	wantsMap(h, "a2", `"a":"","b":"","c":""`, 422, `"status":"Failure","message":"configmaps \"a2\" is forbidden: `+by+`wants less than 3, got 3","reason":"Invalid","details":{"name":"a2","kind":"configmaps","causes":[{"message":"`+by+`wants less than 3, got 3"}]},"code":422}`)
	wantsMap(h, "a3", `"x":""`, 403, by+`no x at first","reason":"Forbidden"`)
	wantsMap(h, "a4", `"y":""`, 422, by+`failed expression: !('y' in object.data)`)
	h.MergePatch(harness.ConfigMaps+"/a1", `{"data":{"x":"1"}}`)
	if got := h.Send("PATCH", harness.ConfigMaps+"/a1", "application/merge-patch+json", []byte(`{"data":{"z":"1"}}`)); got.Code != 422 {
		t.Errorf("an update with too much: %d %s", got.Code, got.Body)
	}
	if got := h.Remove(harness.ConfigMaps+"/a1", ""); got.Code != 200 {
		t.Errorf("a delete: %d %s", got.Code, got.Body)
	}
	h.MergePatch(policyPath+"/size.example.com", `{"spec":{"validations":[{"expression":"false","message":"never"}]}}`)
	wantsMap(h, "a5", ``, 422, "never") // the next request follows the change
	h.Remove(bindingPath+"/size.example.com", "")
	wantsMap(h, "a5", ``, 201, "")
}

// TestPolicyFailures checks expressions without a value, and the cost of others.
func TestPolicyFailures(t *testing.T) {
	h := harness.Start(t, nil)
	const missing = `"validations":[{"expression":"object.data.missing == ''"}]`
	policyFor(h, "ignore", `"failurePolicy":"Ignore",`+missing, `"validationActions":["Deny"]`)
	wantsMap(h, "a", ``, 201, "")
	policyFor(h, "warn", missing, `"validationActions":["Warn","Audit"]`)
	got := h.Post(harness.ConfigMaps, `{"metadata":{"name":"b"},"data":{}}`)
	if warning := got.Header.Get("Warning"); got.Code != 201 || !strings.HasPrefix(warning, `299 - "Validation failed for ValidatingAdmissionPolicy 'warn' with binding 'warn': expression 'object.data.missing == ''' resulted in error: no such key: `) {
		t.Errorf("%d %s, warning %s", got.Code, got.Body, warning)
	}
	policyFor(h, "fail", missing, `"validationActions":["Deny"]`)
	wantsMap(h, "c", ``, 422, "expression 'object.data.missing == ''' resulted in error: no such key: ")
	h.Remove(bindingPath+"/fail", "")
	big := strings.Repeat("x", 100)
	var data []string
	for i := range 2000 {
		data = append(data, fmt.Sprintf(`"k%d":"%s"`, i, big))
	}
	policyFor(h, "cost", `"validations":[{"expression":"object.data.all(a, object.data.all(b, object.data[a] == object.data[b] || a != b))"}]`, `"validationActions":["Deny"]`)
	wantsMap(h, "d", strings.Join(data, ","), 422, "actual cost limit exceeded")
}

// TestPolicyParameters reads parameters of built-in and custom kinds.
func TestPolicyParameters(t *testing.T) {
	h := harness.Start(t, nil)
	spec := `"paramKind":{"apiVersion":"v1","kind":"ConfigMap"},"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('p-')"}],
		"validations":[{"expression":"params == null || size(object.data) <= int(params.data.most)","messageExpression":"'at most ' + params.data.most"}]`
	policyFor(h, "named", spec, `"validationActions":["Deny"],"paramRef":{"name":"limit","parameterNotFoundAction":"Deny"}`)
	wantsMap(h, "p-1", ``, 422, "policy 'named' with binding 'named' denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"[7:])
	h.MergePatch(bindingPath+"/named", `{"spec":{"paramRef":{"parameterNotFoundAction":"Allow"}}}`)
	wantsMap(h, "p-1", ``, 201, "")
	wantsMap(h, "limit", `"most":"1"`, 201, "")
	wantsMap(h, "p-2", `"a":"","b":""`, 422, "at most 1")
	h.MergePatch(harness.ConfigMaps+"/limit", `{"data":{"most":"2"}}`)
	wantsMap(h, "p-2", `"a":"","b":""`, 201, "")
	h.MergePatch(harness.ConfigMaps+"/limit", `{"metadata":{"labels":{"limit":"yes"}}}`)
	h.MergePatch(bindingPath+"/named", `{"spec":{"paramRef":{"name":null,"selector":{"matchLabels":{"limit":"yes"}}}}}`)
	wantsMap(h, "p-3", `"a":"","b":"","c":""`, 422, "at most 2")
	h.MergePatch(bindingPath+"/named", `{"spec":{"paramRef":null}}`)
	wantsMap(h, "p-3", `"a":"","b":"","c":""`, 201, "")

	h.MergePatch(policyPath+"/named", `{"spec":{"paramKind":{"apiVersion":"shop.example.com/v1","kind":"Limit"}}}`)
	wantsMap(h, "p-4", ``, 422, "ValidatingAdmissionPolicy 'named' denied request: failed to configure policy: failed to find resource referenced by paramKind: 'shop.example.com/v1, Kind=Limit'")
}

// TestPolicyRights asks for rights in an expression.
func TestPolicyRights(t *testing.T) {
	h := harness.Start(t, nil)
	policyFor(h, "rights", `"validations":[
		{"expression":"authorizer.requestResource.check('create').allowed()"},
		{"expression":"authorizer.group('').resource('pods').namespace('default').name('x').check('get').allowed() && authorizer.path('/healthz').check('get').allowed()"},
		{"expression":"!authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').check('list').allowed()"}]`, `"validationActions":["Deny"]`)
	wantsMap(h, "a", ``, 201, "")
	h.MergePatch(policyPath+"/rights", `{"spec":{"validations":[{"expression":"authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').check('list').allowed()"}]}}`)
	wantsMap(h, "b", ``, 422, "failed expression: authorizer")
}

// TestPolicyTypes awaits the mistakes of types in the status of policies.
func TestPolicyTypes(t *testing.T) {
	h := harness.WithControllers(t, "validatingadmissionpolicy-status-controller")
	const rules = `"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments","replicasets","deployments/status"]}]}`
	policyFor(h, "wrong", rules+`,"variables":[{"name":"n","expression":"object.spec.replicas"}],"validations":[
		{"expression":"object.spec.replicas > '1'","messageExpression":"'got ' + variables.n"},
		{"expression":"object.metadata.namespace == request.namespace && object.spec.template.spec.containers.all(c, c.image != '') && has(object.status)"}]`, `"validationActions":["Deny"]`)
	policyFor(h, "right", rules+`,"validations":[{"expression":"object.spec.replicas > 1"}]`, `"validationActions":["Deny"]`)
	h.AwaitText(policyPath+"/right", `"status":{"observedGeneration":1,"typeChecking":{}}`)
	h.AwaitText(policyPath+"/wrong", `"fieldRef":"spec.validations[0].messageExpression","warning":"apps/v1, Kind=Deployment: ERROR: <input>:1:8: found no matching overload for '_+_' applied to '(string, int)'`)
	got := string(h.Get(policyPath + "/wrong").Body)
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
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, nil)
	const of = `,"matchConditions":[{"name":"a","expression":"object.metadata.name.startsWith('a')"},{"name":"b","expression":"request.userInfo.username == 'admin' && object.data.x == 'y'"}]`
	rule := harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps")
	h.ValidateBy(v, "check", rule, of)
	h.MutateBy(v, "change", rule, `,"failurePolicy":"Ignore"`+of)
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
		wantsMap(h, c.name, c.data, c.code, c.text)
		if _, n := v.Last(); n != c.n {
			t.Errorf("%s: %d reviews, want %d", c.name, n, c.n)
		}
	}
}

func patchChange(text string) string {
	return fmt.Sprintf(`{"patchType":"JSONPatch","jsonPatch":{"expression":%q}}`, text)
}

// TestMutatingPolicy changes objects by configurations and patches.
func TestMutatingPolicy(t *testing.T) {
	h := harness.Start(t, nil)
	h.MutateFor("a-label", `"variables":[{"name":"by","expression":"request.userInfo.username"}],"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('l')"}],
		"mutations":[`+harness.ConfigurationChange(`Object{metadata: Object.metadata{labels: {"by": variables.by}}, data: {"x": "1"}}`)+`,`+
		patchChange(`[JSONPatch{op: "test", path: "/data/x", value: "1"}, JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a.b/c"), value: "d"}]`)+`,`+
		patchChange(`[JSONPatch{op: "test", path: "/data/x", value: "2"}, JSONPatch{op: "remove", path: "/data"}]`)+`]`)
	wantsMap(h, "l1", `"y":"2"`, 201, `"labels":{"a.b/c":"d","by":"admin"}`)
	wantsMap(h, "l2", `"y":"2"`, 201, `"data":{"x":"1","y":"2"}`)
	wantsMap(h, "o1", `"y":"2"`, 201, `"data":{"y":"2"}`)
	h.MutateFor("wrong", `"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('w')"}],"mutations":[`+harness.ConfigurationChange(`Object{data: Object.spec{}}`)+`]`)
	wantsMap(h, "w1", ``, 403, `"message":"policy 'wrong' with binding 'wrong' denied request: type mismatch: unexpected type name \"Object.spec\", expected \"Object.data\", which matches field name path from root Object type","reason":"Invalid"`)
	h.MutateFor("unknown", `"failurePolicy":"Ignore","matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('u')"}],"mutations":[`+harness.ConfigurationChange(`Object{wrong: 1}`)+`]`)
	wantsMap(h, "u1", ``, 201, "")
	h.MutateFor("value", `"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('v')"}],"mutations":[`+harness.ConfigurationChange(`Object{wrong: object.data.none}`)+`]`)
	wantsMap(h, "v1", ``, 403, `resulted in error: no such key`)
}

// TestMutatingPolicyWorkloads merges configurations into lists by their keys, and refuses
// those of parts that have one owner.
func TestMutatingPolicyWorkloads(t *testing.T) {
	h := harness.Start(t, nil)
	const rules = `"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"]}]},`
	named := func(c string) string {
		return `"matchConditions":[{"name":"n","expression":"object.metadata.name.startsWith('` + c + `')"}],`
	}
	h.MutateFor("side", rules+named("s")+`"mutations":[`+harness.ConfigurationChange(`Object{spec: Object.spec{replicas: object.spec.replicas + 1, template: Object.spec.template{spec: Object.spec.template.spec{
		containers: [Object.spec.template.spec.containers{name: "side", image: "side:1"}]}}}}`)+`]`)
	h.MutateFor("whole", rules+named("w")+`"mutations":[`+harness.ConfigurationChange(`Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{
		containers: [Object.spec.template.spec.containers{name: "a", command: ["x"]}]}}}}`)+`]`)
	deployment := func(name string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"a:1"}]}}}}`
	}
	const path = "/apis/apps/v1/namespaces/default/deployments"
	for name, want := range map[string][]string{
		"s1": {`"replicas":3`, `"containers":[{"name":"a","image":"a:1",`, `{"name":"side","image":"side:1","resources":{},"terminationMessagePath":"/dev/termination-log"`},
		"w1": {`denied request: error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.template.spec.containers[0].command`},
	} {
		got := string(h.Post(path, deployment(name)).Body)
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: %s lacks %s", name, got, text)
			}
		}
	}
}

// TestMutatingPolicyRounds applies a policy again after later changes, if it wants to.
func TestMutatingPolicyRounds(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, func(_ string, request, response map[string]any) {
		response["patchType"], response["patch"] = "JSONPatch", []byte(`[{"op":"add","path":"/data/hook","value":"1"}]`)
	})
	count := func(name, key string) string {
		return `"mutations":[` + harness.ConfigurationChange(`Object{data: {"`+key+`": has(object.data.`+key+`) ? object.data.`+key+` + "i" : "i"}}`) + `],"reinvocationPolicy":"` + name + `"`
	}
	h.MutateFor("again", count("IfNeeded", "again"))
	h.MutateFor("once", count("Never", "once"))
	wantsMap(h, "a", `"x":""`, 201, `"data":{"again":"ii","once":"i","x":""}`)
	h.MutateBy(v, "hook", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
	wantsMap(h, "b", `"x":""`, 201, `"data":{"again":"ii","hook":"1","once":"i","x":""}`)
}

// TestPolicyReaders refuses policies whose author may not read their parameters.
func TestPolicyReaders(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.RBACGroup+"clusterroles", harness.RoleOf("policies", `{"apiGroups":["admissionregistration.k8s.io"],"resources":["*"],"verbs":["*"]}`))
	h.Create(harness.RBACGroup+"clusterrolebindings", harness.BindingOf("policies", "ClusterRole", "policies", harness.ToBob))
	policy := func(name, more string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{` + more + `"matchConstraints":{"resourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},"validations":[{"expression":"true"}]}}`
	}
	const params, ref = `"paramKind":{"apiVersion":"v1","kind":"Secret"},`, `"paramRef":{"name":"a","namespace":"default","parameterNotFoundAction":"Allow"},`
	binding := `{"metadata":{"name":"b"},"spec":{"policyName":"b",` + ref + `"validationActions":["Deny"]}}`
	h.Each([]harness.RoleRequest{
		{"bob-token", "POST", policyPath, policy("a", ""), 201, ""},
		{"bob-token", "POST", policyPath, policy("b", params), 422, `spec.paramKind: Forbidden: user \"bob\" must have \"get\" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)`},
		{harness.AdminToken, "POST", policyPath, policy("b", params), 201, ""},
		{"bob-token", "POST", bindingPath, binding, 422, `spec.paramRef: Forbidden: user \"bob\" does not have \"get\" permission`},
		{harness.AdminToken, "POST", bindingPath, binding, 201, ""},
		{"bob-token", "PATCH", policyPath + "/b", `{"metadata":{"labels":{"a":"b"}}}`, 200, ""},
	})
}
