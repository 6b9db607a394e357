package server_test

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// loginWebhook is an HTTPS server for reviews, with its client configuration. The handler
// of a test may be replaced.
type loginWebhook struct {
	*httptest.Server
	config string // path of the client configuration

	mu     sync.Mutex
	handle http.HandlerFunc
}

func newLoginWebhook(t *testing.T) *loginWebhook {
	w := &loginWebhook{}
	w.Server = httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		handle := w.handle
		w.mu.Unlock()
		handle(out, r)
	}))
	t.Cleanup(w.Server.Close)
	w.config = filepath.Join(t.TempDir(), "webhook.kubeconfig")
	text, err := json.Marshal(map[string]any{
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": w.URL + "/review",
			"certificate-authority-data": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})}}},
		"users":           []any{map[string]any{"name": "u", "user": map[string]any{"token": "of-the-server"}}},
		"contexts":        []any{map[string]any{"name": "x", "context": map[string]any{"cluster": "c", "user": "u"}}},
		"current-context": "x",
	})
	if err == nil {
		err = os.WriteFile(w.config, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *loginWebhook) answer(handle http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handle = handle
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// TestAuthorizationWebhook: the answers of a webhook in a chain with RBAC.
func TestAuthorizationWebhook(t *testing.T) {
	hook := newLoginWebhook(t)
	h := startServer(t, func(c *server.Config) {
		c.AuthorizationModes = []string{"Webhook", "RBAC"}
		c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = hook.config, "v1"
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
		{"allowed", configMaps, `"allowed":true`, 200, ""},
		{"no opinion", configMaps, `"reason":"mind your business"`, 403, "mind your business"},
		{"no opinion, and RBAC allows", "/version", ``, 200, ""},
		{"denied, and RBAC allows", "/version", `"denied":true,"reason":"never"`, 403, "never"},
		{"both", "/version", `"denied":true,"allowed":true`, 500, ""},
	} {
		hook.answer(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.Header.Get("Authorization") != "Bearer of-the-server" || !strings.Contains(string(body), `"user":"carol"`) {
				t.Errorf("%s: asked %s", c.name, body)
			}
			_, _ = io.WriteString(w, status(c.status))
		})
		got := h.send("GET", c.path, "", nil, "Authorization", "Bearer carol-token")
		if got.code != c.code || !strings.Contains(string(got.body), c.text) {
			t.Errorf("%s: %d %s, want %d with %q", c.name, got.code, got.body, c.code, c.text)
		}
	}
	hook.answer(text(status(`"reason":"unsure"`)))
	got := h.send("POST", accessGroup+"subjectaccessreviews", "application/json", []byte(`{"spec":{"user":"carol","nonResourceAttributes":{"path":"/metrics","verb":"get"}}}`))
	if !strings.Contains(string(got.body), `"status":{"allowed":false,"reason":"unsure"}`) {
		t.Errorf("a review: %s", got.body)
	}
}

// TestAuthorizationOfCreatingWrites: no lock is held while a webhook is asked whether a PUT
// or an apply may create its object. Here another client creates it meanwhile.
func TestAuthorizationOfCreatingWrites(t *testing.T) {
	hook := newLoginWebhook(t)
	h := startServer(t, func(c *server.Config) {
		c.AuthorizationModes = []string{"Webhook", "RBAC"}
		c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = hook.config, "v1"
		c.AuthorizationWebhookAllowedTTL, c.AuthorizationWebhookOthersTTL = -1, -1
	})
	for _, c := range []struct{ name, method, path, contentType string }{
		{"put", "PUT", configMaps + "/put", "application/json"},
		{"applied", "PATCH", configMaps + "/applied?fieldManager=x", "application/apply-patch+yaml"},
	} {
		var asked atomic.Int32
		hook.answer(func(w http.ResponseWriter, r *http.Request) {
			if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), `"verb":"create"`) {
				asked.Add(1)
				(&harness{t: t, server: h.server, client: h.client}).create(configMaps, configMap(c.name, `{"by":"another"}`))
			}
			_, _ = io.WriteString(w, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","status":{"allowed":true}}`)
		})
		got := h.send(c.method, c.path, c.contentType, []byte(configMap(c.name, `{"mine":"too"}`)), "Authorization", "Bearer carol-token")
		if got.code != 200 || asked.Load() != 1 {
			t.Errorf("%s: %d %s after %d questions, want an update after one", c.name, got.code, got.body, asked.Load())
		}
	}
}

// TestHostileLoginWebhooks: a webhook for tokens or rights that misbehaves grants nothing,
// and gets nothing elsewhere.
func TestHostileLoginWebhooks(t *testing.T) {
	hook := newLoginWebhook(t)
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	h := startServer(t, func(c *server.Config) {
		c.AuthorizationModes = []string{"Webhook", "RBAC"}
		c.AuthorizationWebhookConfigFile, c.AuthorizationWebhookVersion = hook.config, "v1"
		c.TokenWebhookConfigFile, c.TokenWebhookVersion = hook.config, "v1"
		c.Shorten(func(d *server.Durations) { d.Webhook, d.WebhookAnswer = time.Millisecond, 500*time.Millisecond })
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
		hook.answer(handle)
		if got := h.send("GET", configMaps, "", nil, "Authorization", "Bearer unknown-"+name); got.code != 401 {
			t.Errorf("%s: an unknown token: %d %s", name, got.code, got.body)
		}
		if got := h.send("GET", configMaps+"/"+strings.ReplaceAll(name, " ", "-"), "", nil, "Authorization", "Bearer carol-token"); got.code != 500 || strings.Contains(string(got.body), hook.URL) {
			t.Errorf("%s: a user without rights: %d %s", name, got.code, got.body)
		}
		if got := h.send("GET", "/version", "", nil, "Authorization", "Bearer carol-token"); got.code != 200 {
			t.Errorf("%s: with a right of RBAC: %d %s", name, got.code, got.body)
		}
		if got := h.get(configMaps); got.code != 200 {
			t.Errorf("%s: an administrator: %d", name, got.code)
		}
	}
}
