package identity_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// authorizersFile is a file of authorizers, in a folder of the test.
type authorizersFile struct {
	t    *testing.T
	path string
}

func newAuthorizersFile(t *testing.T, authorizers ...string) *authorizersFile {
	f := &authorizersFile{t, filepath.Join(t.TempDir(), "authorization.yaml")}
	f.write(authorizers...)
	return f
}

func (f *authorizersFile) write(authorizers ...string) {
	text := "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n- " + strings.Join(authorizers, "\n- ") + "\n"
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// hookEntry is a webhook in a file of authorizers, with the match conditions.
func hookEntry(name, config, failurePolicy string, conditions ...string) string {
	entry := fmt.Sprintf("{type: Webhook, name: %s, webhook: {timeout: 3s, subjectAccessReviewVersion: v1, matchConditionSubjectAccessReviewVersion: v1, "+
		"failurePolicy: %s, connectionInfo: {type: KubeConfigFile, kubeConfigFile: %q}, cacheAuthorizedRequests: false, cacheUnauthorizedRequests: false", name, failurePolicy, config)
	for i, c := range conditions {
		conditions[i] = fmt.Sprintf("{expression: %q}", c)
	}
	return entry + ", matchConditions: [" + strings.Join(conditions, ", ") + "]}}"
}

// counted has a webhook give an answer, and counts the questions.
func counted(hook *harness.LoginWebhook, status string) *atomic.Int64 {
	asked := new(atomic.Int64)
	hook.Answer(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{`+status+`}}`)
	})
	return asked
}

const rbacEntry = "{type: RBAC, name: rbac}"

// Webhooks of a file are asked in its order, about the requests that their conditions choose.
func TestAuthorizersOfAFile(t *testing.T) {
	first, second := harness.NewLoginWebhook(t), harness.NewLoginWebhook(t)
	file := newAuthorizersFile(t, hookEntry("first.example.com", first.Config, "Deny", "request.user != 'bob'", "has(request.resourceAttributes)"),
		hookEntry("second", second.Config, "NoOpinion", "request.resourceAttributes.namespace == 'default'"), rbacEntry)
	h := harness.Start(t, func(c *server.Config) {
		c.EmulatedVersion, c.AuthorizationConfigFile = []string{"1.36"}, file.path
	})
	expect := func(name, token, path string, code int, text string) {
		t.Helper()
		got := h.Send("GET", path, "", nil, "Authorization", "Bearer "+token)
		if got.Code != code || !strings.Contains(string(got.Body), text) {
			t.Errorf("%s: %d %s, want %d %q", name, got.Code, got.Body, code, text)
		}
	}
	asked, next := counted(first, `"reason":"first has no opinion"`), counted(second, `"allowed":true`)
	expect("both are asked", "carol-token", harness.ConfigMaps, 200, "")
	expect("the first is not for bob", "bob-token", harness.ConfigMaps, 200, "")
	if asked.Load() != 1 || next.Load() != 2 {
		t.Errorf("asked %d and %d times", asked.Load(), next.Load())
	}
	expect("a condition has no value, and nobody decides", "carol-token", "/metrics", 500, "could not be decided")
	expect("RBAC is asked last", "carol-token", "/version", 200, "")
	counted(first, `"denied":true,"reason":"never"`)
	expect("denied", "carol-token", harness.ConfigMaps, 403, "never")
	first.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	expect("the first fails, which denies", "carol-token", harness.ConfigMaps, 500, "could not be decided")
	second.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) })
	expect("the second fails, which says nothing", "bob-token", harness.ConfigMaps, 500, "could not be decided")
	h.Create(harness.RBACGroup+"clusterroles", harness.RoleOf("maps", `{"verbs":["list"],"apiGroups":[""],"resources":["configmaps"]}`))
	h.Create(harness.RBACGroup+"clusterrolebindings", harness.BindingOf("maps", "ClusterRole", "maps", `{"kind":"User","name":"bob"},{"kind":"User","name":"carol"}`))
	expect("the second fails, and RBAC allows", "bob-token", harness.ConfigMaps, 200, "")
	expect("the first fails, and RBAC is not asked", "carol-token", harness.ConfigMaps, 500, "")
	expect("an administrator is not asked about", harness.AdminToken, harness.ConfigMaps, 200, "")
}

// Changes of the file count. One with a mistake does not, is logged and counted.
func TestAuthorizersAreReloaded(t *testing.T) {
	hook := harness.NewLoginWebhook(t)
	counted(hook, `"allowed":true`)
	file := newAuthorizersFile(t, rbacEntry)
	h := harness.Start(t, func(c *server.Config) {
		c.EmulatedVersion, c.AuthorizationConfigFile = []string{"1.32"}, file.path
	})
	expect := func(code int, success, failure string) {
		t.Helper()
		h.Running.Reload()
		if got := h.Send("GET", harness.ConfigMaps, "", nil, "Authorization", "Bearer carol-token"); got.Code != code {
			t.Errorf("%d %s, want %d", got.Code, got.Body, code)
		}
		for status, want := range map[string]string{"success": success, "failure": failure} {
			if got := reloadsOf(h, "authorization", status); got != want {
				t.Errorf("%s: %q, want %q", status, got, want)
			}
		}
	}
	expect(403, "", "")
	entry := strings.ReplaceAll(hookEntry("h", hook.Config, "Deny"), ", cacheAuthorizedRequests: false, cacheUnauthorizedRequests: false", "")
	file.write(entry, rbacEntry)
	expect(200, "1", "")
	file.write(rbacEntry, "{type: Node, name: node}")
	expect(200, "1", "1")
	file.write("{type: RBAC")
	expect(200, "1", "2")
	file.write(rbacEntry)
	expect(403, "2", "2")
}

// reloadsOf is the number of reloads of a configuration with a status; "" for none.
func reloadsOf(h *harness.Server, of, status string) string {
	for name, value := range h.Figures() {
		if strings.HasPrefix(name, "apiserver_"+of+"_config_controller_automatic_reloads_total{") && strings.Contains(name, `status="`+status+`"`) {
			return value
		}
	}
	return ""
}

// A wrong file ends the start, with its path; releases before 1.29 have none.
func TestWrongAuthorizersEndTheStart(t *testing.T) {
	for name, c := range map[string]struct{ release, authorizers, want string }{
		"1.25":          {"1.25", rbacEntry, "--authorization-config cannot be used without the feature gate StructuredAuthorizationConfiguration"},
		"alpha gate":    {"1.29", rbacEntry, "StructuredAuthorizationConfiguration"},
		"another name":  {"1.36", "{type: RBAC, name: x}", "authorization.yaml: expected name rbac for authorizer RBAC instead of x"},
		"unknown field": {"1.36", "{typo: RBAC}", `authorization.yaml:4: unknown field "typo"`},
	} {
		file := newAuthorizersFile(t, c.authorizers)
		s, err := server.Start(t.Context(), server.Config{InMemory: true, Authorization: server.Authorization{AuthorizationConfigFile: file.path},
			Features: server.Features{EmulatedVersion: []string{c.release}}})
		if err == nil {
			_ = s.Shutdown(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	modes := server.Config{InMemory: true, Authorization: server.Authorization{AuthorizationConfigFile: "f", AuthorizationModes: []string{"RBAC"}}}
	if err := modes.Validate(); err == nil || !strings.Contains(err.Error(), "--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined") {
		t.Error(err)
	}
}
