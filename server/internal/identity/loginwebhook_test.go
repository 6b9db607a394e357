package identity_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// TestAuthorizationWebhook: the answers of a webhook in a chain with RBAC.
func TestAuthorizationWebhook(t *testing.T) {
	hook := harness.NewLoginWebhook(t)
	h := harness.Start(t, func(c *server.Config) {
		c.AuthorizationModes = []string{"Webhook", "RBAC"}
		c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = hook.Config, "v1"
		c.AuthorizationWebhookAllowedTTL, c.AuthorizationWebhookOthersTTL = -1, -1
	})
	status := func(s string) string {
		return `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{` + s + `}}`
	}
	for _, c := range []struct {
		name, path, status string
		code               int
		text               string
	}{
		{"allowed", harness.ConfigMaps, `"allowed":true`, 200, ""},
		{"no opinion", harness.ConfigMaps, `"reason":"mind your business"`, 403, "mind your business"},
		{"no opinion, and RBAC allows", "/version", ``, 200, ""},
		{"denied, and RBAC allows", "/version", `"denied":true,"reason":"never"`, 403, "never"},
		{"both", "/version", `"denied":true,"allowed":true`, 500, ""},
	} {
		hook.Answer(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("Authorization") != "Bearer of-the-server" || !strings.Contains(string(body), `"user":"carol"`) {
				t.Errorf("%s: asked %s", c.name, body)
			}
			_, _ = io.WriteString(w, status(c.status))
		})
		got := h.Send("GET", c.path, "", nil, "Authorization", "Bearer carol-token")
		if got.Code != c.code || !strings.Contains(string(got.Body), c.text) {
			t.Errorf("%s: %d %s, want %d with %q", c.name, got.Code, got.Body, c.code, c.text)
		}
	}
	hook.Answer(text(status(`"reason":"unsure"`)))
	got := h.Send("POST", harness.AccessGroup+"subjectaccessreviews", "application/json", []byte(`{"spec":{"user":"carol","nonResourceAttributes":{"path":"/metrics","verb":"get"}}}`))
	if !strings.Contains(string(got.Body), `"status":{"allowed":false,"reason":"unsure"}`) {
		t.Errorf("a review: %s", got.Body)
	}
}

// TestAuthorizationOfCreatingWrites: no lock is held while a webhook is asked whether a PUT
// or an apply may create its object. Here another client creates it meanwhile.
func TestAuthorizationOfCreatingWrites(t *testing.T) {
	hook := harness.NewLoginWebhook(t)
	h := harness.Start(t, func(c *server.Config) {
		c.AuthorizationModes = []string{"Webhook", "RBAC"}
		c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = hook.Config, "v1"
		c.AuthorizationWebhookAllowedTTL, c.AuthorizationWebhookOthersTTL = -1, -1
	})
	for _, c := range []struct{ name, method, path, contentType string }{
		{"put", "PUT", harness.ConfigMaps + "/put", "application/json"},
		{"applied", "PATCH", harness.ConfigMaps + "/applied?fieldManager=x", "application/apply-patch+yaml"},
	} {
		var asked atomic.Int32
		hook.Answer(func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"verb":"create"`) {
				asked.Add(1)
				(&harness.Server{T: t, Running: h.Running, HTTP: h.HTTP}).Create(harness.ConfigMaps, harness.ConfigMap(c.name, `{"by":"another"}`))
			}
			_, _ = io.WriteString(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}}`)
		})
		got := h.Send(c.method, c.path, c.contentType, []byte(harness.ConfigMap(c.name, `{"mine":"too"}`)), "Authorization", "Bearer carol-token")
		if got.Code != 200 || asked.Load() != 1 {
			t.Errorf("%s: %d %s after %d questions, want an update after one", c.name, got.Code, got.Body, asked.Load())
		}
	}
}

// TestHostileLoginWebhooks: a webhook for tokens or rights that misbehaves grants nothing,
// and gets nothing elsewhere.
func TestHostileLoginWebhooks(t *testing.T) {
	hook := harness.NewLoginWebhook(t)
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	h := harness.Start(t, func(c *server.Config) {
		c.AuthorizationModes = []string{"Webhook", "RBAC"}
		c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = hook.Config, "v1"
		c.TokenWebhookConfigFile, c.TokenWebhookVersion = hook.Config, "v1"
		harness.Shorten(c, func(d *seams.Durations) { d.Webhook, d.WebhookAnswer = time.Millisecond, 500*time.Millisecond })
	})
	// yes grants all that is asked for, as the object of a group version.
	yes := func(version string) string {
		return `"apiVersion":"` + version + `","status":{"allowed":true,"authenticated":true,"user":{"username":"mallory","groups":["system:masters"]}}`
	}
	for name, handle := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"hang":          func(_ http.ResponseWriter, r *http.Request) { <-ended },
		"garbage":       text("\x00\xff{{"),
		"empty":         text(""),
		"a list":        text(`[{"status":{"allowed":true}}]`),
		"other version": text(`{"kind":"SubjectAccessReview",` + yes("authorization.k8s.io/v1beta1") + `}`),
		"other kind":    text(`{"kind":"Pod",` + yes("v1") + `}`),
		"no kind":       text(`{` + yes("authorization.k8s.io/v1") + `}`),
		"10 MB":         text(`{"kind":"SubjectAccessReview",` + yes("authorization.k8s.io/v1") + strings.Repeat(" ", 10<<20) + `}`),
		"failure": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			_, _ = io.WriteString(w, `{"kind":"SubjectAccessReview",`+yes("authorization.k8s.io/v1")+`}`)
		},
		"forbidden":  func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(403) },
		"broken off": func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) },
	} {
		hook.Answer(handle)
		if got := h.Send("GET", harness.ConfigMaps, "", nil, "Authorization", "Bearer unknown-"+name); got.Code != 401 {
			t.Errorf("%s: an unknown token: %d %s", name, got.Code, got.Body)
		}
		if got := h.Send("GET", harness.ConfigMaps+"/"+strings.ReplaceAll(name, " ", "-"), "", nil, "Authorization", "Bearer carol-token"); got.Code != 500 || strings.Contains(string(got.Body), hook.URL) {
			t.Errorf("%s: a user without rights: %d %s", name, got.Code, got.Body)
		}
		if got := h.Send("GET", "/version", "", nil, "Authorization", "Bearer carol-token"); got.Code != 200 {
			t.Errorf("%s: with a right of RBAC: %d %s", name, got.Code, got.Body)
		}
		if got := h.Get(harness.ConfigMaps); got.Code != 200 {
			t.Errorf("%s: an administrator: %d", name, got.Code)
		}
	}
}
