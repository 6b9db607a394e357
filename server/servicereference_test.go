package server_test

import (
	"fmt"
	"testing"
)

// A reference to a service without its name is reported at the name, and one without its
// namespace at the namespace, wherever there are such references.
func TestIncompleteServiceReferences(t *testing.T) {
	h := startServer(t, nil)
	for where, c := range map[string]struct{ path, body, field string }{
		"validating webhook": {validatingPath, `{"metadata":{"name":"a"},"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":%s}}]}`,
			"webhooks[0].clientConfig.service"},
		"mutating webhook": {"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
			`{"metadata":{"name":"a"},"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":%s}}]}`, "webhooks[0].clientConfig.service"},
		"conversion webhook": {definitionsPath, `{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
			"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":%s}}},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, "spec.conversion.webhookClientConfig.service"},
		"extension server": {"/apis/apiregistration.k8s.io/v1/apiservices",
			`{"metadata":{"name":"v1.example.com"},"spec":{"group":"example.com","version":"v1","groupPriorityMinimum":1,"versionPriority":1,"insecureSkipTLSVerify":true,"service":%s}}`, "spec.service"},
	} {
		for member, service := range map[string]string{"name": `{"namespace":"b"}`, "namespace": `{"name":"b"}`} {
			got := h.post(c.path, fmt.Sprintf(c.body, service))
			if got.code != 422 {
				t.Errorf("%s without %s: %d %s", where, member, got.code, got.body)
				continue
			}
			causes, _ := got.field(t, "details.causes").([]any)
			if len(causes) != 1 || got.field(t, "details.causes.0.field") != c.field+"."+member || got.field(t, "details.causes.0.reason") != "FieldValueRequired" {
				t.Errorf("%s without %s: causes %v", where, member, causes)
			}
		}
	}
}
