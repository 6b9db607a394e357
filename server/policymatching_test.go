package server_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
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
	h := startServer(t, nil)
	h.create(podsPath, podBody)
	h.create(accountsPath, `{"metadata":{"name":"robot"}}`)
	h.create("/apis/apps/v1/namespaces/default/deployments", deployment)
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
		h.policyFor(name+".example.com", spec, denies)
	}
	for _, name := range []string{"a", "b", "kept"} {
		h.create(configMaps, `{"metadata":{"name":"`+name+`","labels":{"of":"`+name+`"}}}`)
	}
	const scalePath, statusPath = "/apis/apps/v1/namespaces/default/deployments/d/scale", "/apis/apps/v1/namespaces/default/deployments/d/status"
	h.run(t, []step{
		{"exec", "POST", podsPath + "/p/exec?container=c&command=sh", "", "", 422, `pods \"p\" is forbidden: ValidatingAdmissionPolicy 'connect.example.com' with binding 'connect.example.com' denied request: no shell in c`},
		{"exec with input", "GET", podsPath + "/p/exec?container=c&command=ls&stdin=true", "", "", 422, "no shell in c"},
		{"another command", "POST", podsPath + "/p/exec?container=c&command=ls", "", "", 400, "does not have a host assigned"},
		{"another pod", "POST", podsPath + "/q/attach", "", "", 422, "failed expression: request.operation == 'CONNECT'"},
		{"attach", "POST", podsPath + "/p/attach", "", "", 400, "does not have a host assigned"},
		{"proxy", "GET", "/api/v1/nodes/n/proxy/exec/x", "", "", 422, "not that path"},
		{"service proxy", "GET", "/api/v1/namespaces/default/services/s/proxy/exec", "", "", 422, "not that path"},
		{"another path", "GET", "/api/v1/nodes/n/proxy/pods", "", "", 404, `"n\" not found`},
		{"delete", "DELETE", configMaps + "/kept", "", "", 422, "kept stays"},
		{"options", "DELETE", configMaps + "/a", "", `{"gracePeriodSeconds":100}`, 422, "a stays"},
		{"many", "DELETE", configMaps + "?labelSelector=of+in+(b,kept)", "", "", 422, "kept stays"},
		{"it is there", "GET", configMaps + "/kept", "", "", 200, ""},
		{"the others are gone", "GET", configMaps + "/b", "", "", 404, ""},
		{"all but it", "DELETE", configMaps + "?labelSelector=of!=kept", "", "", 200, ""},
		{"gone", "GET", configMaps + "/a", "", "", 404, ""},
		{"scale", "PATCH", scalePath, mergeType, `{"spec":{"replicas":7}}`, 422, "failed expression: object.kind == 'Scale'"},
		{"smaller", "PATCH", scalePath, mergeType, `{"spec":{"replicas":4}}`, 200, ""},
		{"status", "PATCH", statusPath, mergeType, `{"status":{"replicas":7}}`, 422, "failed expression: !has(object.status.replicas)"},
		{"token", "POST", accountsPath + "/robot/token", "", `{"spec":{"expirationSeconds":5000}}`, 422, "failed expression: object.kind == 'TokenRequest'"},
		{"shorter", "POST", accountsPath + "/robot/token", "", `{"spec":{"expirationSeconds":3000}}`, 201, ""},
		{"eviction", "POST", podsPath + "/p/eviction", "", `{"metadata":{"name":"p"}}`, 422, "no Eviction"},
		{"binding", "POST", podsPath + "/p/binding", "", `{"metadata":{"name":"p"},"target":{"name":"n"}}`, 422, "no Binding"},
		{"debugger", "PATCH", podsPath + "/p/ephemeralcontainers", "application/strategic-merge-patch+json", `{"spec":{"ephemeralContainers":[{"name":"x","image":"evil"}]}}`, 422, "failed expression"},
	})
}

// TestPolicySelectors applies policies by the labels of objects, old and new, and of
// namespaces, in the policy and in its bindings, and by names.
func TestPolicySelectors(t *testing.T) {
	h := startServer(t, nil)
	for name, labels := range map[string]string{"strict": `"level":"strict"`, "loose": ``, "other": `"level":"strict","skip":"yes"`} {
		h.create("/api/v1/namespaces", `{"metadata":{"name":"`+name+`","labels":{`+labels+`}}}`)
	}
	h.policyFor("labels", onOperations(`"CREATE","UPDATE"`, "", "v1", `"configmaps"`, `,"namespaceSelector":{"matchLabels":{"level":"strict"}},"objectSelector":{"matchExpressions":[{"key":"app","operator":"In","values":["web","db"]}]}`)+
		`,"validations":[{"expression":"false","message":"no"}]`,
		denies+`,"matchResources":{"namespaceSelector":{"matchExpressions":[{"key":"skip","operator":"DoesNotExist"}]},"objectSelector":{"matchExpressions":[{"key":"app","operator":"NotIn","values":["db"]}]},
		"excludeResourceRules":[{"operations":["*"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"],"resourceNames":["free"]}]}`)
	h.policyFor("itself", onOperations(`"UPDATE"`, "", "v1", `"namespaces"`, `,"namespaceSelector":{"matchLabels":{"level":"strict"}}`)+`,"validations":[{"expression":"namespaceObject != null","message":"a namespace has none"}]`, denies)
	in := func(namespace string) string { return "/api/v1/namespaces/" + namespace + "/configmaps" }
	labelled := func(name, app string) string {
		return `{"metadata":{"name":"` + name + `","labels":{"app":"` + app + `"}}}`
	}
	h.run(t, []step{
		{"selected", "POST", in("strict"), "", labelled("a", "web"), 422, "no"},
		{"another namespace", "POST", in("loose"), "", labelled("a", "web"), 201, ""},
		{"not the binding's", "POST", in("other"), "", labelled("a", "web"), 201, ""},
		{"other labels", "POST", in("strict"), "", labelled("a", "x"), 201, ""},
		{"not the binding's", "POST", in("strict"), "", labelled("b", "db"), 201, ""},
		{"not that name", "POST", in("strict"), "", labelled("free", "web"), 201, ""},
		{"the new labels", "PATCH", in("strict") + "/a", mergeType, `{"metadata":{"labels":{"app":"web"}}}`, 422, "no"},
		{"the label of the namespace goes", "PATCH", "/api/v1/namespaces/strict", mergeType, `{"metadata":{"labels":{"level":null}}}`, 200, ""},
		{"no more", "PATCH", in("strict") + "/a", mergeType, `{"metadata":{"labels":{"app":"web"}}}`, 200, ""},
		{"it comes again, and is its own", "PATCH", "/api/v1/namespaces/strict", mergeType, `{"metadata":{"labels":{"level":"strict"}}}`, 422, "a namespace has none"},
	})
	h.remove(policyPath+"/itself", "")
	h.run(t, []step{
		{"the label comes again", "PATCH", "/api/v1/namespaces/strict", mergeType, `{"metadata":{"labels":{"level":"strict"}}}`, 200, ""},
		{"the old labels", "PATCH", in("strict") + "/a", mergeType, `{"metadata":{"labels":{"app":"x"}}}`, 422, "no"},
	})
}

// TestPolicyVersions shows an object in the version that a policy names, unless it wants
// that version only.
func TestPolicyVersions(t *testing.T) {
	h := startServer(t, nil)
	spec := onOperations(`"*"`, "autoscaling", "v1", `"horizontalpodautoscalers"`, "") + `,"validations":[{"expression":"object == null || object.apiVersion == 'autoscaling/v1' && object.spec.targetCPUUtilizationPercentage < 90"},
		{"expression":"oldObject == null || oldObject.apiVersion == 'autoscaling/v1' && oldObject.spec.maxReplicas != 7","message":"seven stays"},
		{"expression":"request.kind.version == 'v1' && request.resource.version == 'v1' && request.requestKind.version == 'v2' && request.requestResource.version == 'v2'"}]`
	h.policyFor("v1", spec, denies)
	const path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
	high := strings.Replace(autoscalerV2, `"averageUtilization":`, `"averageUtilization":9`, 1)
	h.run(t, []step{
		{"refused", "POST", path, "", high, 422, "failed expression: object == null"},
		{"allowed", "POST", path, "", autoscalerV2, 201, ""},
		{"an update", "PATCH", path + "/web", mergeType, `{"spec":{"maxReplicas":7}}`, 200, ""},
		{"another", "PATCH", path + "/web", mergeType, `{"spec":{"maxReplicas":8}}`, 422, "seven stays"},
		{"a delete", "DELETE", path + "/web", "", "", 422, "seven stays"},
	})
	h.mergePatch(policyPath+"/v1", `{"spec":{"matchConstraints":{"matchPolicy":"Exact"}}}`)
	h.run(t, []step{{"only its version", "DELETE", path + "/web", "", "", 200, ""}})
}

// TestCustomPolicyParameters reads parameters of a custom kind, until it ends.
func TestCustomPolicyParameters(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	h.define(widgetSchema, "")
	h.awaitCode(shopWidgets, 200)
	h.policyFor("sized", `"paramKind":{"apiVersion":"shop.example.com/v1","kind":"Widget"},"validations":[{"expression":"size(object.data) <= params.spec.size","messageExpression":"params.metadata.name + ' allows ' + string(params.spec.size)"}]`,
		denies+`,"paramRef":{"selector":{},"parameterNotFoundAction":"Allow"}`)
	three := `{"metadata":{"name":"m"},"data":{"a":"","b":"","c":"","d":"","e":""}}`
	h.run(t, []step{
		{"no parameters", "POST", mapsPath + "?dryRun=All", "", three, 201, ""},
		{"one", "POST", shopWidgets, "", widget("six", `,"spec":{"name":"ab","size":6}`), 201, ""},
		{"it allows", "POST", mapsPath + "?dryRun=All", "", three, 201, ""},
		{"another, by default", "POST", shopWidgets, "", widget("four", `,"spec":{"name":"ab"}`), 201, `"size":4`},
		{"it does not", "POST", mapsPath + "?dryRun=All", "", three, 422, "four allows 4"},
		{"of this namespace only", "POST", "/api/v1/namespaces/kube-system/configmaps?dryRun=All", "", three, 201, ""},
		{"it is changed", "PATCH", shopWidgets + "/four", mergeType, `{"spec":{"size":8}}`, 200, ""},
		{"at once", "POST", mapsPath + "?dryRun=All", "", three, 201, ""},
		{"needed", "PATCH", bindingPath + "/sized", mergeType, `{"spec":{"paramRef":{"selector":null,"name":"four","parameterNotFoundAction":"Deny"}}}`, 200, ""},
		{"there", "POST", mapsPath + "?dryRun=All", "", three, 201, ""},
		{"it is deleted", "DELETE", shopWidgets + "/four", "", "", 200, ""},
		{"not there", "POST", mapsPath + "?dryRun=All", "", three, 422, "no params found for policy binding with `Deny` parameterNotFoundAction"},
		{"failures are ignored", "PATCH", policyPath + "/sized", mergeType, `{"spec":{"failurePolicy":"Ignore"}}`, 200, ""},
		{"ignored", "POST", mapsPath + "?dryRun=All", "", three, 201, ""},
		{"failures are not ignored", "PATCH", policyPath + "/sized", mergeType, `{"spec":{"failurePolicy":"Fail"}}`, 200, ""},
		{"the kind ends", "DELETE", definedAs, "", "", 200, ""},
	})
	h.awaitCode(definedAs, 404)
	h.awaitCode(shopWidgets, 404)
	h.run(t, []step{{"without its kind", "POST", mapsPath, "", three, 422, "failed to configure policy: failed to find resource referenced by paramKind: 'shop.example.com/v1, Kind=Widget'"}})
}

// TestPolicyByNode lets the pods of a node change their own objects: the token of a pod that has
// a node names it, as since Kubernetes 1.30.
func TestPolicyByNode(t *testing.T) {
	h := startServer(t, nil)
	h.create(accountsPath, `{"metadata":{"name":"robot"}}`)
	h.create("/api/v1/nodes", `{"metadata":{"name":"n"}}`)
	tokens := map[string]string{}
	for name, node := range map[string]string{"on": `"nodeName":"n",`, "gone": `"nodeName":"gone",`, "waiting": ""} {
		h.create(podsPath, `{"metadata":{"name":"`+name+`"},"spec":{`+node+`"serviceAccountName":"robot","containers":[{"name":"c","image":"i"}]}}`)
		tokens[name] = h.post(accountsPath+"/robot/token", `{"spec":{"boundObjectRef":{"kind":"Pod","apiVersion":"v1","name":"`+name+`"}}}`).field(t, "status.token").(string)
	}
	h.create(rbacGroup+"clusterroles", roleOf("maps", `{"apiGroups":[""],"resources":["configmaps"],"verbs":["*"]}`))
	h.create(rbacGroup+"clusterrolebindings", bindingOf("maps", "ClusterRole", "maps", `{"kind":"ServiceAccount","namespace":"default","name":"robot"}`))
	h.policyFor("node", `"matchConditions":[{"name":"pods","expression":"request.userInfo.username == 'system:serviceaccount:default:robot'"}],
		"variables":[{"name":"node","expression":"request.userInfo.extra[?'authentication.kubernetes.io/node-name'][0].orValue('')"}],
		"validations":[{"expression":"variables.node != ''","message":"not on a node"},{"expression":"variables.node == object.metadata.name","messageExpression":"'only ' + variables.node"}]`, denies)
	h.each([]roleRequest{
		{tokens["on"], "POST", mapsPath, `{"metadata":{"name":"n"}}`, 201, ""},
		{tokens["on"], "POST", mapsPath, `{"metadata":{"name":"m"}}`, 422, "only n"},
		{tokens["gone"], "POST", mapsPath, `{"metadata":{"name":"gone"}}`, 201, ""},
		{tokens["waiting"], "POST", mapsPath, `{"metadata":{"name":"m"}}`, 422, "not on a node"},
		{adminToken, "POST", tokenReviews, `{"spec":{"token":"` + tokens["on"] + `"}}`, 201, `"extra":{"authentication.kubernetes.io/node-name":["n"],"authentication.kubernetes.io/node-uid":["`},
		{adminToken, "POST", tokenReviews, `{"spec":{"token":"` + tokens["gone"] + `"}}`, 201, `"extra":{"authentication.kubernetes.io/node-name":["gone"],"authentication.kubernetes.io/pod-name":["gone"]`},
		{adminToken, "POST", tokenReviews, `{"spec":{"token":"` + tokens["waiting"] + `"}}`, 201, `"extra":{"authentication.kubernetes.io/pod-name":["waiting"]`},
	})
}
