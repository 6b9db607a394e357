package harness

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// OwnAPI is an API of another module: roles and things that have nothing to do with those of
// the server, and with signs requests for certificates.
func OwnAPI(signs bool) *api.API {
	return &api.API{Groups: func() []*api.GroupVersion {
		own := &api.GroupVersion{Group: "tools.example.com", Version: "v1", GroupPriority: 1, VersionPriority: 1, Preferred: true}
		requests := &api.GroupVersion{Group: "certs.example.com", Version: "v1", GroupPriority: 1, VersionPriority: 1, Preferred: true}
		for _, gv := range generated.New(policy.Policy{}, conversion.Hooks{}) {
			switch gv.APIVersion() {
			case "rbac.authorization.k8s.io/v1":
				ownRow(own, gv, "clusterroles")
			case "certificates.k8s.io/v1":
				row := ownRow(requests, gv, "certificatesigningrequests",
					api.Subresource{Name: "status", Endpoint: api.EndpointStatus, Verbs: api.VerbGet | api.VerbUpdate | api.VerbPatch})
				row.Role, row.HasStatus = api.RoleSigningRequests, true
			}
		}
		if signs {
			return []*api.GroupVersion{own, requests}
		}
		return []*api.GroupVersion{own}
	}}
}

// ActionAPI is an API of another module: roles whose actions, by their names, take and answer roles, and operations, by the
// plurals of their resources, that take cluster roles in a namespace and answer roles.
func ActionAPI(actions, operations map[string]*api.Action) *api.API {
	return &api.API{Groups: func() []*api.GroupVersion {
		own := &api.GroupVersion{Group: "tools.example.com", Version: "v1", GroupPriority: 1, VersionPriority: 1, Preferred: true}
		var all []api.Subresource
		for name, action := range actions {
			all = append(all, api.Subresource{Name: name, Endpoint: api.EndpointAction, Verbs: api.VerbCreate, Action: action})
		}
		for _, gv := range generated.New(policy.Policy{}, conversion.Hooks{}) {
			if gv.APIVersion() == "rbac.authorization.k8s.io/v1" {
				row := ownRow(own, gv, "roles", all...)
				for _, action := range actions {
					action.Answers(row.Kind, row.Type)
				}
				for plural, action := range operations {
					action.Answers(row.Kind, row.Type)
					does := ownRow(own, gv, "clusterroles")
					does.Plural, does.Namespaced, does.Stored, does.Verbs = plural, true, false, api.VerbCreate
					does.Endpoint, does.Action, does.StorageVersion, does.Form = api.EndpointAction, action, "", ""
				}
			}
		}
		return []*api.GroupVersion{own}
	}}
}

// ownRow adds a resource to a version, with the kind and the table of a built-in one.
func ownRow(to, of *api.GroupVersion, plural string, subresources ...api.Subresource) *api.Resource {
	from := &of.Resources[slices.IndexFunc(of.Resources, func(r api.Resource) bool { return r.Plural == plural })]
	to.Table, to.Defaults = of.Table, of.Defaults
	for i := range subresources {
		below := &subresources[i]
		below.Group, below.Version, below.Kind, below.Table, below.Type = to.Group, to.Version, from.Kind, of.Table, from.Type
	}
	to.Resources = append(to.Resources, api.Resource{GV: to, Plural: plural, Kind: from.Kind, ListKind: from.ListKind, Type: from.Type,
		Namespaced: from.Namespaced, Stored: true, Verbs: from.Verbs, StorageVersion: "v1", Form: from.Form,
		Checking: api.Checking{NameFormat: from.NameFormat}, Subresources: subresources})
	return &to.Resources[len(to.Resources)-1]
}

// EveryRight is a rule that allows everything.
const EveryRight = `{"verbs":["*"],"apiGroups":["*"],"resources":["*"]}`

// AsBob and AsCarol are headers of users who are not administrators, with EverybodyMay of users who
// may do everything.
var AsBob, AsCarol = []string{"Authorization", "Bearer bob-token"}, []string{"Authorization", "Bearer carol-token"}

// EverybodyMay has a server allow every request.
func EverybodyMay(c *server.Config) { c.AuthorizationModes = []string{"AlwaysAllow"} }

// LoginWebhook is an HTTPS server for reviews, with its client configuration. The handler
// of a test may be replaced.
type LoginWebhook struct {
	*httptest.Server
	Config string // path of the client configuration

	mu     sync.Mutex
	handle http.HandlerFunc
}

// NewLoginWebhook starts a webhook for logins or rights.
func NewLoginWebhook(t *testing.T) *LoginWebhook {
	w := &LoginWebhook{}
	w.Server = httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		handle := w.handle
		w.mu.Unlock()
		handle(out, r)
	}))
	t.Cleanup(w.Server.Close)
	w.Config = filepath.Join(t.TempDir(), "webhook.kubeconfig")
	text, err := json.Marshal(map[string]any{
		"clusters": []any{map[string]any{"name": "c", "cluster": map[string]any{"server": w.URL + "/review",
			"certificate-authority-data": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.Certificate().Raw})}}},
		"users":           []any{map[string]any{"name": "u", "user": map[string]any{"token": "of-the-server"}}},
		"contexts":        []any{map[string]any{"name": "x", "context": map[string]any{"cluster": "c", "user": "u"}}},
		"current-context": "x",
	})
	if err == nil {
		err = os.WriteFile(w.Config, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// Answer replaces the answer of the webhook.
func (w *LoginWebhook) Answer(handle http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handle = handle
}

// RBACGroup is the path of the group version of roles.
const RBACGroup = "/apis/rbac.authorization.k8s.io/v1/"

// SendAs sends a request of another user.
func (h *Server) SendAs(token, method, path, body string) Reply {
	h.T.Helper()
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	return h.Send(method, path, contentType, []byte(body), "Authorization", "Bearer "+token)
}

// RoleRequest is a request with the answer that it has to get.
type RoleRequest = struct {
	Token, Method, Path, Body string
	Code                      int
	Want                      string
}

// Each sends requests and compares their answers.
func (h *Server) Each(list []RoleRequest) {
	h.T.Helper()
	for _, c := range list {
		got := h.SendAs(c.Token, c.Method, c.Path, c.Body)
		if got.Code != c.Code || !strings.Contains(string(got.Body), c.Want) {
			h.T.Errorf("%s: %s %s %s:\n%d %s\nwant %d %s", c.Token, c.Method, c.Path, c.Body, got.Code, got.Body, c.Code, c.Want)
		}
	}
}

// RoleOf is a role in JSON.
func RoleOf(name, rules string) string {
	return `{"metadata":{"name":"` + name + `"},"rules":[` + rules + `]}`
}

// BindingOf is the binding of a role in JSON.
func BindingOf(name, kind, role, subjects string) string {
	return `{"metadata":{"name":"` + name + `"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"` +
		kind + `","name":"` + role + `"},"subjects":[` + subjects + `]}`
}

// ToBob is the subject bob of a binding.
const ToBob = `{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"bob"}`

// ToCarol is the subject carol of a binding.
const ToCarol = `{"kind":"User","apiGroup":"rbac.authorization.k8s.io","name":"carol"}`
