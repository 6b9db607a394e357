package admission_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A reference to a service of an API service that lacks its name is reported at the name, and
// one that lacks its namespace at the namespace. In references of webhooks it is the other way
// round, as in 1.25.
func TestIncompleteServiceReferences(t *testing.T) {
	h := harness.Start(t, nil)
	for where, c := range map[string]struct{ path, body, field string }{
		"validating webhook": {harness.ValidatingPath, `{"metadata":{"name":"a"},"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":%s}}]}`,
			"webhooks[0].clientConfig.service"},
		"mutating webhook": {"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
			`{"metadata":{"name":"a"},"webhooks":[{"name":"a.example.com","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":%s}}]}`, "webhooks[0].clientConfig.service"},
		"conversion webhook": {harness.DefinitionsPath, `{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},
			"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v1"],"clientConfig":{"service":%s}}},
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, "spec.conversion.webhookClientConfig.service"},
		"extension server": {"/apis/apiregistration.k8s.io/v1/apiservices",
			`{"metadata":{"name":"v1.example.com"},"spec":{"group":"example.com","version":"v1","groupPriorityMinimum":1,"versionPriority":1,"insecureSkipTLSVerify":true,"service":%s}}`, "spec.service"},
	} {
		for member, service := range map[string]string{"name": `{"namespace":"b"}`, "namespace": `{"name":"b"}`} {
			got := h.Post(c.path, fmt.Sprintf(c.body, service))
			if got.Code != 422 {
				t.Errorf("%s without %s: %d %s", where, member, got.Code, got.Body)
				continue
			}
			causes, _ := got.Field(t, "details.causes").([]any)
			reported := member
			if strings.Contains(where, "webhook") {
				reported = map[string]string{"name": "namespace", "namespace": "name"}[member]
			}
			if len(causes) != 1 || got.Field(t, "details.causes.0.field") != c.field+"."+reported || got.Field(t, "details.causes.0.reason") != "FieldValueRequired" {
				t.Errorf("%s without %s: causes %v", where, member, causes)
			}
		}
	}
}

// Empty authorities that are applied to a webhook without any make a new generation of the
// configuration, as in 1.25. Repeated, or left out again, they do not.
func TestEmptyAuthoritiesAreAGeneration(t *testing.T) {
	h := harness.Start(t, nil)
	for _, kind := range []string{"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		path := "/apis/admissionregistration.k8s.io/v1/" + strings.ToLower(kind) + "s/a?fieldManager=m"
		for i, c := range []struct {
			authorities string
			generation  float64
		}{{"", 1}, {`,"caBundle":""`, 2}, {`,"caBundle":""`, 2}, {"", 2}, {`,"caBundle":null`, 3}} {
			got := h.Send("PATCH", path, harness.ApplyMedia, fmt.Appendf(nil, `{"apiVersion":"admissionregistration.k8s.io/v1","kind":%q,"metadata":{"name":"a"},"webhooks":[{"name":"a.example.com","sideEffects":"None",
				"admissionReviewVersions":["v1"],"failurePolicy":"Ignore","clientConfig":{"url":"https://127.0.0.1:1/"%s}}]}`, kind, c.authorities))
			if got.Field(t, "metadata.generation") != c.generation {
				t.Errorf("%s, apply %d: generation %v, want %v: %s", kind, i, got.Field(t, "metadata.generation"), c.generation, got.Body)
			}
		}
	}
}
