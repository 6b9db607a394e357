package harness

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// MutateFor makes a mutating policy for creates and updates of config maps, with a binding.
func (h *Server) MutateFor(name, spec string) {
	h.T.Helper()
	const rules = `"matchConstraints":{"resourceRules":[{"operations":["CREATE","UPDATE"],"apiGroups":[""],"apiVersions":["v1"],"resources":["configmaps"]}]},`
	const path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic"
	if !strings.Contains(spec, "matchConstraints") {
		spec = rules + spec
	}
	if !strings.Contains(spec, "reinvocationPolicy") {
		spec += `,"reinvocationPolicy":"Never"`
	}
	h.Create(path+"ies", `{"metadata":{"name":"`+name+`"},"spec":{`+spec+`}}`)
	h.Create(path+"ybindings", `{"metadata":{"name":"`+name+`"},"spec":{"policyName":"`+name+`"}}`)
}

// ConfigurationChange is the value of an ApplyConfiguration mutation with a CEL text.
func ConfigurationChange(text string) string {
	return fmt.Sprintf(`{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":%q}}`, text)
}

// ValidatingPath is the collection of validating webhook configurations.
const ValidatingPath = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

// Reviewer is an admission webhook that keeps the requests of its reviews.
type Reviewer struct {
	*ConversionHook // its server
	Mu              sync.Mutex
	Requests        []map[string]any
}

// NewReviewer answers with what respond adds to the response of a request at a path.
func NewReviewer(t *testing.T, respond func(path string, request, response map[string]any)) *Reviewer {
	t.Helper()
	v := &Reviewer{ConversionHook: NewConversionHook(t)}
	v.Do(func(w http.ResponseWriter, r *http.Request) bool {
		var review map[string]any
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			if text := err.Error(); !strings.Contains(text, "CANCEL") && !strings.Contains(text, "client disconnected") { // its client gave up
				t.Error(err)
			}
			return false
		}
		request := review["request"].(map[string]any)
		v.Mu.Lock()
		v.Requests = append(v.Requests, request)
		v.Mu.Unlock()
		response := map[string]any{"uid": request["uid"], "allowed": true}
		if respond != nil {
			respond(r.URL.Path, request, response)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": review["kind"], "apiVersion": review["apiVersion"], "response": response})
		return true
	})
	return v
}

// Last is the newest request, as JSON; the number of requests begins anew.
func (v *Reviewer) Last() (text string, n int) {
	v.Mu.Lock()
	defer v.Mu.Unlock()
	if n = len(v.Requests); n > 0 {
		b, _ := json.Marshal(v.Requests[n-1])
		text = string(b)
	}
	v.Requests = nil
	return text, n
}

// ValidateBy configures a validating webhook with a path, rules and further members.
func (h *Server) ValidateBy(v *Reviewer, name, rules, members string) {
	h.T.Helper()
	h.Create(ValidatingPath, fmt.Sprintf(`{"metadata":{"name":%q},"webhooks":[{"name":"%s.example.com","clientConfig":{"url":"%s/%s","caBundle":%q},
		"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[%s]%s}]}`, name, name, v.URL, name, v.CABundle(), rules, members))
}

// ReviewRule is the rules of a webhook, with one rule, as a member of JSON.
func ReviewRule(operations, group, version, resource string) string {
	return fmt.Sprintf(`{"operations":[%s],"apiGroups":[%q],"apiVersions":[%q],"resources":[%q]}`, operations, group, version, resource)
}

// MutatingPath is the collection of mutating webhook configurations.
const MutatingPath = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"

// MutateBy configures a mutating webhook with a path, rules and further members.
func (h *Server) MutateBy(v *Reviewer, name, rules, members string) {
	h.T.Helper()
	h.Create(MutatingPath, fmt.Sprintf(`{"metadata":{"name":%q},"webhooks":[{"name":"%s.example.com","clientConfig":{"url":"%s/%s","caBundle":%q},
		"sideEffects":"None","admissionReviewVersions":["v1"],"rules":[%s]%s}]}`, name, name, v.URL, name, v.CABundle(), rules, members))
}

// NewMutator answers with the JSON patch that patch returns for a request at a path.
func NewMutator(t *testing.T, patch func(path string, request map[string]any) string) *Reviewer {
	return NewReviewer(t, func(path string, request, response map[string]any) {
		if text := patch(path, request); text != "" {
			response["patch"], response["patchType"] = base64.StdEncoding.EncodeToString([]byte(text)), "JSONPatch"
		}
	})
}

// AdmissionFile is a file of --admission-control-config-file with the plug-ins.
func AdmissionFile(t *testing.T, plugins string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "admission.yaml")
	if err := os.WriteFile(path, []byte("apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"+plugins), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
