package admission_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const deployment = `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

// onOperations are the constraints of a policy for some operations on resources.
func onOperations(operations, group, version, resources, more string) string {
	return `"matchConstraints":{"resourceRules":[{"operations":[` + operations + `],"apiGroups":["` + group + `"],"apiVersions":["` + version + `"],"resources":[` + resources + `]}]` + more + `}`
}

const denies = `"validationActions":["Deny"]`

// TestPolicyOperations applies policies to all that is admitted: connections, deletions one
// by one, subresources, and bodies that are not stored.
func TestPolicyOperations(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.PodsPath, harness.PodBody)
	h.Create(harness.AccountsPath, `{"metadata":{"name":"robot"}}`)
	h.Create("/apis/apps/v1/namespaces/default/deployments", deployment)
	for name, spec := range map[string]string{
		"connect": onOperations(`"CONNECT"`, "", "v1", `"pods/exec","pods/attach","pods/portforward"`, "") + `,"validations":[{"expression":"request.operation == 'CONNECT' && oldObject == null && request.name == 'p'"},
			{"expression":"request.subResource != 'exec' || object.command.all(c, c != 'sh') && !has(object.stdin)","messageExpression":"'no shell in ' + object.container"}]`,
		"proxy": onOperations(`"CONNECT"`, "", "v1", `"nodes/proxy","services/proxy"`, "") + `,"validations":[{"expression":"!object.path.startsWith('/exec')","message":"not that path"}]`,
		"delete": onOperations(`"DELETE"`, "", "v1", `"configmaps"`, "") + `,"validations":[{"expression":"object == null && oldObject.metadata.name != 'kept' && (!has(request.options.gracePeriodSeconds) || request.options.gracePeriodSeconds < 100)",
			"messageExpression":"oldObject.metadata.name + ' stays'"}]`,
		"scale":  onOperations(`"UPDATE"`, "apps", "v1", `"deployments/scale"`, "") + `,"validations":[{"expression":"object.kind == 'Scale' && object.spec.replicas < 5 && oldObject.spec.replicas == 1"}]`,
		"status": onOperations(`"UPDATE"`, "apps", "v1", `"deployments/status"`, "") + `,"validations":[{"expression":"!has(object.status.replicas) || object.status.replicas < 5"}]`,
		"token":  onOperations(`"CREATE"`, "", "v1", `"serviceaccounts/token"`, "") + `,"validations":[{"expression":"object.kind == 'TokenRequest' && object.spec.expirationSeconds < 4000"}]`,
		"evict":  onOperations(`"CREATE"`, "", "v1", `"pods/eviction","pods/binding"`, "") + `,"validations":[{"expression":"!(object.kind in ['Eviction', 'Binding'])","messageExpression":"'no ' + object.kind"}]`,
		"debug":  onOperations(`"UPDATE"`, "", "v1", `"pods/ephemeralcontainers"`, "") + `,"validations":[{"expression":"object.spec.ephemeralContainers.all(c, c.image != 'evil')"}]`,
	} {
		policyFor(h, name+".example.com", spec, denies)
	}
	for _, name := range []string{"a", "b", "kept"} {
		h.Create(harness.ConfigMaps, `{"metadata":{"name":"`+name+`","labels":{"of":"`+name+`"}}}`)
	}
	const scalePath, statusPath = "/apis/apps/v1/namespaces/default/deployments/d/scale", "/apis/apps/v1/namespaces/default/deployments/d/status"
	h.Run(t, []harness.Step{
		{"exec", "POST", harness.PodsPath + "/p/exec?container=c&command=sh", "", "", 422, `pods \"p\" is forbidden: ValidatingAdmissionPolicy 'connect.example.com' with binding 'connect.example.com' denied request: no shell in c`},
		{"exec with input", "GET", harness.PodsPath + "/p/exec?container=c&command=ls&stdin=true", "", "", 422, "no shell in c"},
		{"another command", "POST", harness.PodsPath + "/p/exec?container=c&command=ls", "", "", 400, "does not have a host assigned"},
		{"another pod", "POST", harness.PodsPath + "/q/attach", "", "", 422, "failed expression: request.operation == 'CONNECT'"},
		{"attach", "POST", harness.PodsPath + "/p/attach", "", "", 400, "does not have a host assigned"},
		{"proxy", "GET", "/api/v1/nodes/n/proxy/exec/x", "", "", 422, "not that path"},
		{"service proxy", "GET", "/api/v1/namespaces/default/services/s/proxy/exec", "", "", 422, "not that path"},
		{"another path", "GET", "/api/v1/nodes/n/proxy/pods", "", "", 404, `"n\" not found`},
		{"delete", "DELETE", harness.ConfigMaps + "/kept", "", "", 422, "kept stays"},
		{"options", "DELETE", harness.ConfigMaps + "/a", "", `{"gracePeriodSeconds":100}`, 422, "a stays"},
		{"many", "DELETE", harness.ConfigMaps + "?labelSelector=of+in+(b,kept)", "", "", 422, "kept stays"},
		{"it is there", "GET", harness.ConfigMaps + "/kept", "", "", 200, ""},
		{"the others are gone", "GET", harness.ConfigMaps + "/b", "", "", 404, ""},
		{"all but it", "DELETE", harness.ConfigMaps + "?labelSelector=of!=kept", "", "", 200, ""},
		{"gone", "GET", harness.ConfigMaps + "/a", "", "", 404, ""},
		{"scale", "PATCH", scalePath, harness.MergePatchMedia, `{"spec":{"replicas":7}}`, 422, "failed expression: object.kind == 'Scale'"},
		{"smaller", "PATCH", scalePath, harness.MergePatchMedia, `{"spec":{"replicas":4}}`, 200, ""},
		{"status", "PATCH", statusPath, harness.MergePatchMedia, `{"status":{"replicas":7}}`, 422, "failed expression: !has(object.status.replicas)"},
		{"token", "POST", harness.AccountsPath + "/robot/token", "", `{"spec":{"expirationSeconds":5000}}`, 422, "failed expression: object.kind == 'TokenRequest'"},
		{"shorter", "POST", harness.AccountsPath + "/robot/token", "", `{"spec":{"expirationSeconds":3000}}`, 201, ""},
		{"eviction", "POST", harness.PodsPath + "/p/eviction", "", `{"metadata":{"name":"p"}}`, 422, "no Eviction"},
		{"binding", "POST", harness.PodsPath + "/p/binding", "", `{"metadata":{"name":"p"},"target":{"name":"n"}}`, 422, "no Binding"},
		{"debugger", "PATCH", harness.PodsPath + "/p/ephemeralcontainers", "application/strategic-merge-patch+json", `{"spec":{"ephemeralContainers":[{"name":"x","image":"evil"}]}}`, 422, "failed expression"},
	})
}

// TestPolicySelectors applies policies by the labels of objects, old and new, and of
// namespaces, in the policy and in its bindings, and by names.
func TestPolicySelectors(t *testing.T) {
	h := harness.Start(t, nil)
	for name, labels := range map[string]string{"strict": `"level":"strict"`, "loose": ``, "other": `"level":"strict","skip":"yes"`} {
		h.Create("/api/v1/namespaces", `{"metadata":{"name":"`+name+`","labels":{`+labels+`}}}`)
	}
	policyFor(h, "labels", onOperations(`"CREATE","UPDATE"`, "", "v1", `"configmaps"`, `,"namespaceSelector":{"matchLabels":{"level":"strict"}},"objectSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["web","db"]}]}`)+
		`,"validations":[{"expression":"false","message":"no"}]`,
		denies+`,"matchResources":{"namespaceSelector":{"matchExpressions":[{"key":"skip","operator":"DoesNotExist"}]},"objectSelector":{"matchExpressions":[{"key":"app","operator":"NotIn","values":["db"]}]},
		"excludeResourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"],"resourceNames":["free"]}]}`)
	policyFor(h, "itself", onOperations(`"UPDATE"`, "", "v1", `"namespaces"`, `,"namespaceSelector":{"matchLabels":{"level":"strict"}}`)+`,"validations":[{"expression":"namespaceObject != null","message":"a namespace has none"}]`, denies)
	in := func(namespace string) string { return "/api/v1/namespaces/" + namespace + "/configmaps" }
	labelled := func(name, app string) string {
		return `{"metadata":{"name":"` + name + `","labels":{"app":"` + app + `"}}}`
	}
	h.Run(t, []harness.Step{
		{"selected", "POST", in("strict"), "", labelled("a", "web"), 422, "no"},
		{"another namespace", "POST", in("loose"), "", labelled("a", "web"), 201, ""},
		{"not the binding's", "POST", in("other"), "", labelled("a", "web"), 201, ""},
		{"other labels", "POST", in("strict"), "", labelled("a", "x"), 201, ""},
		{"not the binding's", "POST", in("strict"), "", labelled("b", "db"), 201, ""},
		{"not that name", "POST", in("strict"), "", labelled("free", "web"), 201, ""},
		{"the new labels", "PATCH", in("strict") + "/a", harness.MergePatchMedia, `{"metadata":{"labels":{"app":"web"}}}`, 422, "no"},
		{"the label of the namespace goes", "PATCH", "/api/v1/namespaces/strict", harness.MergePatchMedia, `{"metadata":{"labels":{"level":null}}}`, 200, ""},
		{"no more", "PATCH", in("strict") + "/a", harness.MergePatchMedia, `{"metadata":{"labels":{"app":"web"}}}`, 200, ""},
		{"it comes again, and is its own", "PATCH", "/api/v1/namespaces/strict", harness.MergePatchMedia, `{"metadata":{"labels":{"level":"strict"}}}`, 422, "a namespace has none"},
	})
	h.Remove(policyPath+"/itself", "")
	h.Run(t, []harness.Step{
		{"the label comes again", "PATCH", "/api/v1/namespaces/strict", harness.MergePatchMedia, `{"metadata":{"labels":{"level":"strict"}}}`, 200, ""},
		{"the old labels", "PATCH", in("strict") + "/a", harness.MergePatchMedia, `{"metadata":{"labels":{"app":"x"}}}`, 422, "no"},
	})
}

// TestPolicyVersions shows an object in the version that a policy names, unless it wants
// that version only.
func TestPolicyVersions(t *testing.T) {
	h := harness.Start(t, nil)
	spec := onOperations(`"*"`, "autoscaling", "v1", `"horizontalpodautoscalers"`, "") + `,"validations":[{"expression":"object == null || object.apiVersion == 'autoscaling/v1' && object.spec.targetCPUUtilizationPercentage < 90"},
		{"expression":"oldObject == null || oldObject.apiVersion == 'autoscaling/v1' && oldObject.spec.maxReplicas != 7","message":"seven stays"},
		{"expression":"request.kind.version == 'v1' && request.resource.version == 'v1' && request.requestKind.version == 'v2' && request.requestResource.version == 'v2'"}]`
	policyFor(h, "v1", spec, denies)
	const path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	high := strings.Replace(harness.AutoscalerV2, `"averageUtilization":`, `"averageUtilization":9`, 1)
	h.Run(t, []harness.Step{
		{"refused", "POST", path, "", high, 422, "failed expression: object == null"},
		{"allowed", "POST", path, "", harness.AutoscalerV2, 201, ""},
		{"an update", "PATCH", path + "/web", harness.MergePatchMedia, `{"spec":{"maxReplicas":7}}`, 200, ""},
		{"another", "PATCH", path + "/web", harness.MergePatchMedia, `{"spec":{"maxReplicas":8}}`, 422, "seven stays"},
		{"a delete", "DELETE", path + "/web", "", "", 422, "seven stays"},
	})
	h.MergePatch(policyPath+"/v1", `{"spec":{"matchConstraints":{"matchPolicy":"Exact"}}}`)
	h.Run(t, []harness.Step{{"only its version", "DELETE", path + "/web", "", "", 200, ""}})
}

// TestCustomPolicyParameters reads parameters of a custom kind, until it ends.
func TestCustomPolicyParameters(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	h.Define(harness.WidgetSchema, "")
	h.AwaitCode(harness.ShopWidgets, 200)
	policyFor(h, "sized", `"paramKind":{"apiVersion":"shop.example.com/v1","kind":"Widget"},"validations":[{"expression":"size(object.data) <= params.spec.size","messageExpression":"params.metadata.name + ' allows ' + string(params.spec.size)"}]`,
		denies+`,"paramRef":{"selector":{},"parameterNotFoundAction":"Allow"}`)
	three := `{"metadata":{"name":"m"},"data":{"a":"","b":"","c":"","d":"","e":""}}`
	h.Run(t, []harness.Step{
		{"no parameters", "POST", harness.ConfigMaps + "?dryRun=All", "", three, 201, ""},
		{"one", "POST", harness.ShopWidgets, "", harness.Widget("six", `,"spec":{"name":"ab","size":6}`), 201, ""},
		{"it allows", "POST", harness.ConfigMaps + "?dryRun=All", "", three, 201, ""},
		{"another, by default", "POST", harness.ShopWidgets, "", harness.Widget("four", `,"spec":{"name":"ab"}`), 201, `"size":4`},
		{"it does not", "POST", harness.ConfigMaps + "?dryRun=All", "", three, 422, "four allows 4"},
		{"of this namespace only", "POST", "/api/v1/namespaces/kube-system/configmaps?dryRun=All", "", three, 201, ""},
		{"it is changed", "PATCH", harness.ShopWidgets + "/four", harness.MergePatchMedia, `{"spec":{"size":8}}`, 200, ""},
		{"at once", "POST", harness.ConfigMaps + "?dryRun=All", "", three, 201, ""},
		{"needed", "PATCH", bindingPath + "/sized", harness.MergePatchMedia, `{"spec":{"paramRef":{"selector":null,"name":"four","parameterNotFoundAction":"Deny"}}}`, 200, ""},
		{"there", "POST", harness.ConfigMaps + "?dryRun=All", "", three, 201, ""},
		{"it is deleted", "DELETE", harness.ShopWidgets + "/four", "", "", 200, ""},
		{"not there", "POST", harness.ConfigMaps + "?dryRun=All", "", three, 422, "no params found for policy binding with `Deny` parameterNotFoundAction"},
		{"failures are ignored", "PATCH", policyPath + "/sized", harness.MergePatchMedia, `{"spec":{"failurePolicy":"Ignore"}}`, 200, ""},
		{"ignored", "POST", harness.ConfigMaps + "?dryRun=All", "", three, 201, ""},
		{"failures are not ignored", "PATCH", policyPath + "/sized", harness.MergePatchMedia, `{"spec":{"failurePolicy":"Fail"}}`, 200, ""},
		{"the kind ends", "DELETE", harness.DefinedAs, "", "", 200, ""},
	})
	h.AwaitCode(harness.DefinedAs, 404)
	h.AwaitCode(harness.ShopWidgets, 404)
	h.Run(t, []harness.Step{{"without its kind", "POST", harness.ConfigMaps, "", three, 422, "failed to configure policy: failed to find resource referenced by paramKind: 'shop.example.com/v1, Kind=Widget'"}})
}

// TestPolicyByNode lets the pods of a node change their own objects: the token of a pod that has
// a node names it, as since Kubernetes 1.30.
func TestPolicyByNode(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.AccountsPath, `{"metadata":{"name":"robot"}}`)
	h.Create("/api/v1/nodes", `{"metadata":{"name":"n"}}`)
	tokens := map[string]string{}
	for name, node := range map[string]string{"on": `"nodeName":"n",`, "gone": `"nodeName":"gone",`, "waiting": ""} {
		h.Create(harness.PodsPath, `{"metadata":{"name":"`+name+`"},"spec":{`+node+`"serviceAccountName":"robot","containers":[{"name":"c","image":"i"}]}}`)
		tokens[name] = h.Post(harness.AccountsPath+"/robot/token", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"`+name+`"}}}`).Field(t, "status.token").(string)
	}
	h.Create(harness.RBACGroup+"clusterroles", harness.RoleOf("maps", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["*"]}`))
	h.Create(harness.RBACGroup+"clusterrolebindings", harness.BindingOf("maps", "ClusterRole", "maps", `{"kind":"ServiceAccount","namespace":"default","name":"robot"}`))
	policyFor(h, "node", `"matchConditions":[{"name":"pods","expression":"request.userInfo.username == 'system:serviceaccount:default:robot'"}],
		"variables":[{"name":"node","expression":"request.userInfo.extra[?'authentication.kubernetes.io/node-name'][0].orValue('')"}],
		"validations":[{"expression":"variables.node != ''","message":"not on a node"},{"expression":"variables.node == object.metadata.name","messageExpression":"'only ' + variables.node"}]`, denies)
	h.Each([]harness.RoleRequest{
		{tokens["on"], "POST", harness.ConfigMaps, `{"metadata":{"name":"n"}}`, 201, ""},
		{tokens["on"], "POST", harness.ConfigMaps, `{"metadata":{"name":"m"}}`, 422, "only n"},
		{tokens["gone"], "POST", harness.ConfigMaps, `{"metadata":{"name":"gone"}}`, 201, ""},
		{tokens["waiting"], "POST", harness.ConfigMaps, `{"metadata":{"name":"m"}}`, 422, "not on a node"},
		{harness.AdminToken, "POST", harness.TokenReviews, `{"spec":{"token":"` + tokens["on"] + `"}}`, 201, `"extra":{"authentication.kubernetes.io/node-name":["n"],"authentication.kubernetes.io/node-uid":["`},
		{harness.AdminToken, "POST", harness.TokenReviews, `{"spec":{"token":"` + tokens["gone"] + `"}}`, 201, `"extra":{"authentication.kubernetes.io/node-name":["gone"],"authentication.kubernetes.io/pod-name":["gone"]`},
		{harness.AdminToken, "POST", harness.TokenReviews, `{"spec":{"token":"` + tokens["waiting"] + `"}}`, 201, `"extra":{"authentication.kubernetes.io/pod-name":["waiting"]`},
	})
}
