package policy_test

import (
	"strings"
	"testing"
)

func TestWebhookConfiguration(t *testing.T) {
	for _, kind := range []string{"Mutating", "Validating"} {
		head := "apiVersion: admissionregistration.k8s.io/v1\nkind: " + kind + "WebhookConfiguration\nmetadata: {name: c}\n"
		const fine = "{name: a.b.c, sideEffects: None, admissionReviewVersions: [v1], clientConfig: {url: 'https://a/b'}}"
		hook := func(old, changed string) string { return "webhooks: [" + strings.Replace(fine, old, changed, 1) + "]" }
		rule := func(rule string) string { return hook("{", "{rules: ["+rule+"], ") }
		client := func(config string) string { return hook("{url: 'https://a/b'}", config) }
		runCreate(t, head, []createCase{
			{"fine", hook("", ""), ""},
			{"none", "", ""},
			{"no name", hook("name: a.b.c, ", ""), "webhooks[0].name: Required"},
			{"short name", hook("a.b.c", "a.b"), "webhooks[0].name: Invalid"},
			{"odd name", hook("a.b.c", "A.b.c"), "webhooks[0].name: Invalid"},
			{"twice", "webhooks: [" + fine + "," + fine + "]", "webhooks[1].name: Duplicate"},
			{"no versions", hook("[v1]", "[]"), "webhooks[0].admissionReviewVersions: Required"},
			{"unknown version", hook("[v1]", "[v2]"), "webhooks[0].admissionReviewVersions: Invalid"},
			{"version twice", hook("[v1]", "[v1, v1]"), "webhooks[0].admissionReviewVersions[1]: Invalid"},
			{"odd version", hook("[v1]", "[v1, V]"), "webhooks[0].admissionReviewVersions[1]: Invalid"},
			{"selector", hook("{", "{objectSelector: {matchExpressions: [{key: a, operator: Near}]}, "), "webhooks[0].objectSelector.matchExpressions[0].operator: Invalid"},
			{"no client", client("{}"), "webhooks[0].clientConfig: Required"},
			{"two clients", client("{url: 'https://a', service: {name: a, namespace: b}}"), "webhooks[0].clientConfig: Required"},
			{"http", client("{url: 'http://a/b'}"), "webhooks[0].clientConfig.url: Invalid"},
			{"no host", client("{url: 'https:///b'}"), "webhooks[0].clientConfig.url: Invalid"},
			{"no url", client("{url: ':'}"), "webhooks[0].clientConfig.url: Required"},
			{"query", client("{url: 'https://a/b?c'}"), "webhooks[0].clientConfig.url: Invalid"},
			{"service", client("{service: {name: a, namespace: b, path: /c/d/}}"), ""},
			{"no service name", client("{service: {namespace: b}}"), "webhooks[0].clientConfig.service.namespace: Required"},
			{"no service namespace", client("{service: {name: b}}"), "webhooks[0].clientConfig.service.name: Required"},
			{"path", client("{service: {name: a, namespace: b, path: //c}}"), "webhooks[0].clientConfig.service.path: Invalid"},
			{"no operations", rule("{apiGroups: [''], apiVersions: [v1], resources: [pods]}"), "webhooks[0].rules[0].operations: Required"},
			{"wildcards", rule("{operations: [CREATE], apiGroups: ['*', ''], apiVersions: [v1, ''], resources: ['*', pods]}"),
				"webhooks[0].rules[0].apiGroups: Invalid; webhooks[0].rules[0].apiVersions[1]: Required; webhooks[0].rules[0].resources: Invalid"},
			{"subresources", rule("{operations: ['*'], apiGroups: [''], apiVersions: [v1], resources: [pods/*, pods/log, '*/scale', pods/scale]}"),
				"webhooks[0].rules[0].resources[1]: Invalid; webhooks[0].rules[0].resources[3]: Invalid"},
			{"everything", rule("{operations: ['*'], apiGroups: [''], apiVersions: [v1], resources: ['*/*', '']}"),
				"webhooks[0].rules[0].resources: Invalid; webhooks[0].rules[0].resources[1]: Required"},
		})
		runUpdate(t, head, []updateCase{
			{"still unknown", hook("[v1]", "[v9]"), hook("[v1]", "[v8]"), ""},
			{"no more known", hook("", ""), hook("[v1]", "[v8]"), "webhooks[0].admissionReviewVersions: Invalid"},
		})
		runCells(t, head, []cellCase{{"one", hook("", ""), "Webhooks", int64(1)}})
	}
}

func TestAPIService(t *testing.T) {
	head := "apiVersion: apiregistration.k8s.io/v1\nkind: APIService\nmetadata: {name: v1.a.b}\n"
	const local = "group: a.b, version: v1, groupPriorityMinimum: 20000, versionPriority: 1000"
	remote := local + ", service: {namespace: x, name: svc}"
	runCreate(t, head, []createCase{
		{"local", "spec: {" + local + "}", ""},
		{"remote", "spec: {" + remote + ", insecureSkipTLSVerify: true}", ""},
		{"other name", "spec: {" + strings.Replace(local, "a.b", "a.c", 1) + "}", "metadata.name: Invalid"},
		{"nothing", "spec: {}", "metadata.name: Invalid; spec.group: Required; spec.version: Invalid; spec.groupPriorityMinimum: Invalid; spec.versionPriority: Invalid"},
		{"too much", "spec: {group: a.b, version: v1, groupPriorityMinimum: 20001, versionPriority: 1001}", "spec.groupPriorityMinimum: Invalid; spec.versionPriority: Invalid"},
		{"local and insecure", "spec: {" + local + ", insecureSkipTLSVerify: true, caBundle: eA==}", "spec.caBundle: Invalid; spec.insecureSkipTLSVerify: Invalid"},
		{"both", "spec: {" + remote + ", insecureSkipTLSVerify: true, caBundle: eA==}", "spec.insecureSkipTLSVerify: Invalid"},
		{"no service", "spec: {" + local + ", service: {}}", "spec.service.namespace: Required; spec.service.name: Required"},
	})
	runStatus(t, head, []updateCase{
		{"conditions", "spec: {" + local + "}", "spec: {" + local + "}\nstatus: {conditions: [{status: Yes and no}]}", "status.conditions[0].status: NotSupported"},
	})
	runHooks(t, head, []hookCase{
		{"remote", "spec: {" + remote + "}", "status/conditions", ""},
		{"port", "spec: {" + remote + "}", "spec/service/port", "443"},
		{"local", "spec: {" + local + "}", "status/conditions/0/reason", `"Local"`},
	})
	runCells(t, head, []cellCase{
		{"local", "spec: {" + local + "}", "Service", "Local"},
		{"remote", "spec: {" + remote + "}", "Service", "x/svc"},
		{"remote", "spec: {" + remote + "}", "Available", "Unknown"},
		{"local", "spec: {" + local + "}\nstatus: {conditions: [{type: Available, status: 'True'}]}", "Available", "True"},
		{"not there", "spec: {" + remote + "}\nstatus: {conditions: [{type: Available, status: 'False', reason: ServiceNotFound}]}", "Available", "False (ServiceNotFound)"},
	})
}
