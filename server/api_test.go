package server_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/storetest"
	"github.com/capstan-dev/capstan/server"
)

// harness is a server in memory with an administrator's client.
type harness struct {
	t      *testing.T
	server *server.Server
	client *http.Client
}

// evaluatedOnce is for tests that measure the cost of a write.
func evaluatedOnce(c *server.Config) { c.WrapStore(nil) }

const adminToken = "admin-token"

func startServer(t *testing.T, change func(*server.Config)) *harness {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte(adminToken+",admin,1,system:masters\nbob-token,bob,2\ncarol-token,carol,3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Tests of single requests count objects and revisions; controllers have tests of
	// their own.
	cfg := server.Config{InMemory: true, PKI: server.PKI{TokenAuthFile: tokens}, Background: server.Background{Controllers: []string{"-*"}, DisablePriorityAndFairness: true},
		Admission: server.Admission{DisableAdmissionPlugins: []string{"ServiceAccount"}}}
	// Evaluations of writes may run again, without effects of their own.
	cfg.WrapStore(func(s store.Store) store.Store { return storetest.Again{Store: s} })
	if change != nil {
		change(&cfg)
	}
	s, err := server.Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
	select {
	case <-s.Bootstrapped(): // else it would write among the objects that the test counts
	case <-time.After(30 * time.Second):
		t.Fatal("the objects that every cluster has are not there; the server's log says why")
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.CA())
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &harness{t: t, server: s, client: &http.Client{Transport: transport, Timeout: 20 * time.Second}}
}

// reply is a complete answer.
type reply struct {
	code   int
	header http.Header
	body   []byte
}

func (h *harness) send(method, path, contentType string, body []byte, header ...string) reply {
	h.t.Helper()
	req, err := http.NewRequest(method, h.server.URL()+path, bytes.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminToken)
	req.Header.Set("User-Agent", "capstan-test")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := h.client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, text}
}

func (h *harness) post(path, body string) reply {
	h.t.Helper()
	return h.send(http.MethodPost, path, "application/json", []byte(body))
}

func (h *harness) get(path string) reply { h.t.Helper(); return h.send(http.MethodGet, path, "", nil) }

// field finds a value in a JSON answer: "metadata.name", "items.0.spec".
func (r reply) field(t *testing.T, path string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(r.body, &v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, r.body)
	}
	for _, name := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			i := 0
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(x) {
				return nil
			}
			v = x[i]
		default:
			return nil
		}
	}
	return v
}

func (r reply) expect(t *testing.T, code int, reason string) {
	t.Helper()
	if r.code != code {
		t.Fatalf("answered %d, want %d: %s", r.code, code, r.body)
	}
	if reason != "" {
		if got := r.field(t, "reason"); got != reason {
			t.Errorf("reason %v, want %s: %s", got, reason, r.body)
		}
		if got, _ := r.field(t, "message").(string); len(got) < 10 {
			t.Errorf("message %q does not help", got)
		}
	}
}

const configMaps = "/api/v1/namespaces/default/configmaps"

func configMap(name, data string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q},"data":%s}`, name, data)
}

// TestBadInput sends mistakes and attacks of clients.
func TestBadInput(t *testing.T) {
	h := startServer(t, nil)
	h.post(configMaps, configMap("there", `{"a":"1"}`)).expect(t, 201, "")
	before := h.get(configMaps).field(t, "metadata.resourceVersion")
	deep := strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000)
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'i'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	for _, test := range []struct {
		name, method, path, contentType, body string
		code                                  int
		reason                                string
	}{
		{"truncated JSON", "POST", configMaps, "application/json", `{"apiVersion":"v1",`, 400, "BadRequest"},
		{"not JSON", "POST", configMaps, "application/json", "hello", 400, "BadRequest"},
		{"malformed YAML", "POST", configMaps, "application/yaml", "a: [", 400, "BadRequest"},
		{"no body", "POST", configMaps, "application/json", "", 400, "BadRequest"},
		{"wrong kind", "POST", configMaps, "application/json", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`, 400, "BadRequest"},
		{"wrong apiVersion", "POST", configMaps, "application/json", `{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"x"}}`, 400, "BadRequest"},
		{"wrong type", "POST", configMaps, "application/json", `{"metadata":{"name":"x"},"data":{"a":1}}`, 400, "BadRequest"},
		{"name differs from path", "PUT", configMaps + "/there", "application/json", configMap("other", "{}"), 400, "BadRequest"},
		{"namespace differs from path", "POST", configMaps, "application/json", `{"metadata":{"name":"x","namespace":"kube-system"}}`, 400, "BadRequest"},
		{"object too large", "POST", "/apis/apps/v1/namespaces/default/controllerrevisions", "application/json",
			`{"metadata":{"name":"big"},"revision":1,"data":{"a":"` + strings.Repeat("x", 1600<<10) + `"}}`, 413, "RequestEntityTooLarge"},
		{"request too large", "POST", configMaps, "application/json", configMap("big", `{"a":"`+strings.Repeat("x", 4<<20)+`"}`), 413, "RequestEntityTooLarge"},
		{"alias bomb", "POST", configMaps, "application/yaml", bomb, 400, "BadRequest"},
		{"deep nesting", "POST", configMaps, "application/json", deep, 400, "BadRequest"},
		{"three megabytes of brackets", "POST", configMaps, "application/json", strings.Repeat("[", 3<<20-1), 400, "BadRequest"},
		{"unknown media type", "POST", configMaps, "text/csv", "a,b", 415, "UnsupportedMediaType"},
		{"unknown patch type", "PATCH", configMaps + "/there", "application/json", "{}", 415, "UnsupportedMediaType"},
		{"unknown resource", "GET", "/api/v1/namespaces/default/nosuch", "", "", 404, "NotFound"},
		{"unknown version", "GET", "/apis/apps/v7/things", "", "", 404, "NotFound"},
		{"unknown group", "GET", "/apis/nosuch/v1/things", "", "", 404, ""},
		{"unknown path", "GET", "/nosuch", "", "", 404, ""},
		{"missing object", "GET", configMaps + "/nosuch", "", "", 404, "NotFound"},
		{"missing namespace", "POST", "/api/v1/namespaces/nosuch/configmaps", "application/json", configMap("x", "{}"), 404, "NotFound"},
		{"unknown verb", "PATCH", configMaps, "application/merge-patch+json", "{}", 405, "MethodNotAllowed"},
		{"unknown method", "BREW", configMaps, "", "", 405, "MethodNotAllowed"},
		{"stale resourceVersion", "PUT", configMaps + "/there", "application/json", `{"metadata":{"name":"there","resourceVersion":"1"}}`, 409, "Conflict"},
		{"garbage resourceVersion", "PUT", configMaps + "/there", "application/json", `{"metadata":{"name":"there","resourceVersion":"abc"}}`, 400, "BadRequest"},
		{"taken name", "POST", configMaps, "application/json", configMap("there", "{}"), 409, "AlreadyExists"},
		{"wrong name", "POST", configMaps, "application/json", configMap("Not_a_name", "{}"), 422, "Invalid"},
		{"dots in the path", "GET", "/api/v1/namespaces/default/configmaps/%2e%2e", "", "", 400, "BadRequest"},
		{"slash in a name", "GET", configMaps + "/a%2fb", "", "", 400, "BadRequest"},
		{"NUL in a name", "GET", configMaps + "/a%00b", "", "", 400, "BadRequest"},
		{"future revision", "GET", configMaps + "?resourceVersion=999999999&resourceVersionMatch=Exact", "", "", 504, "Timeout"},
		{"edited page token", "GET", configMaps + "?limit=1&continue=AAAA", "", "", 400, "BadRequest"},
		{"too many patch operations", "PATCH", configMaps + "/there", "application/json-patch+json",
			"[" + strings.Repeat(`{"op":"test","path":"/data/a","value":"1"},`, 10001) + `{"op":"test","path":"/data/a","value":"1"}]`, 413, "RequestEntityTooLarge"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.send(test.method, test.path, test.contentType, []byte(test.body)).expect(t, test.code, test.reason)
		})
	}
	if after := h.get(configMaps).field(t, "metadata.resourceVersion"); after != before {
		t.Errorf("bad input moved the revision from %v to %v: something was written", before, after)
	}
}

// TestWhoMayDoWhat checks the rules that hold without further authorizers.
func TestWhoMayDoWhat(t *testing.T) {
	h := startServer(t, nil)
	for _, test := range []struct {
		token, path string
		code        int
	}{
		{"bob-token", configMaps, 403}, {"bob-token", "/api", 200}, {"bob-token", "/apis/apps/v1", 200}, {"bob-token", "/openapi/v2", 200},
		{"bob-token", "/version", 200}, {"bob-token", "/nosuch", 403}, {"wrong", "/version", 401},
		{"", "/version", 200}, {"", "/readyz", 200}, {"", "/api", 403}, {"", configMaps, 403}, {adminToken, "/nosuch", 404},
	} {
		authorization := ""
		if test.token != "" {
			authorization = "Bearer " + test.token
		}
		if got := h.send("GET", test.path, "", nil, "Authorization", authorization); got.code != test.code {
			t.Errorf("%q on %s: %d, want %d: %s", test.token, test.path, got.code, test.code, got.body)
		}
	}
	// In an impossible name a slash counts as one of the path.
	if got := h.send("GET", configMaps+"/a%2Fx", "", nil, "Authorization", ""); got.field(t, "details.name") != "a" || !strings.Contains(string(got.body), `resource \"configmaps/x\"`) {
		t.Errorf("%s", got.body)
	}
}

// TestOpenAPIForms requests the documents as clients of several ages do.
func TestOpenAPIForms(t *testing.T) {
	h := startServer(t, nil)
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/apps/v1"} {
		if got := h.send("GET", path, "", nil, "Accept", "application/yaml"); got.code != 406 {
			t.Errorf("%s as YAML: %d", path, got.code)
		}
		h.send("GET", path, "", nil, "Accept", "text/html,*/*;q=0.1").expect(t, 200, "")
	}
	for _, test := range []struct{ path, accept, want, begins string }{
		{"/openapi/v2", "", "application/json", "{"},
		{"/openapi/v2", "application/json", "application/json", "{"},
		{"/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "\n\x032.0"},
		{"/openapi/v3", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf", "application/json", "{"},
		{"/openapi/v3/apis/apps/v1", "application/json", "application/json", "{"},
	} {
		r := h.send("GET", test.path, "", nil, "Accept", test.accept)
		if got := r.header.Get("Content-Type"); r.code != 200 || got != test.want || !bytes.HasPrefix(r.body, []byte(test.begins)) {
			t.Errorf("%s as %q: %d %s %.40q, want 200 %s %q", test.path, test.accept, r.code, got, r.body, test.want, test.begins)
		}
	}
}

// TestOpenAPINames looks for kinds by the names that generated clients know from 1.25, which
// are not those of the groups.
func TestOpenAPINames(t *testing.T) {
	definitions, _ := startServer(t, nil).get("/openapi/v2").field(t, "definitions").(map[string]any)
	for _, name := range []string{"api.core.v1.Pod", "api.rbac.v1.Role", "api.flowcontrol.v1beta2.FlowSchema", "api.networking.v1.Ingress",
		"kube-aggregator.pkg.apis.apiregistration.v1.APIService"} {
		if definitions["io.k8s."+name] == nil {
			t.Errorf("no definition io.k8s.%s", name)
		}
	}
}

// TestManyServersInOneProcess starts several servers and checks that they share nothing.
func TestManyServersInOneProcess(t *testing.T) {
	a, b := startServer(t, nil), startServer(t, nil)
	a.post(configMaps, configMap("only-a", "{}")).expect(t, 201, "")
	b.get(configMaps+"/only-a").expect(t, 404, "NotFound")
}

// TestNothingChanged: an update that changes nothing keeps its bytes
// and its revision.
func TestNothingChanged(t *testing.T) {
	h := startServer(t, nil)
	first := h.post(configMaps, configMap("a", `{"k":"v"}`))
	first.expect(t, 201, "")
	for _, again := range []reply{
		h.send("PUT", configMaps+"/a", "application/json", []byte(` { "data" : {"k":"v"}, "metadata":{"name":"a"} } `)),
		h.send("PATCH", configMaps+"/a", "application/merge-patch+json", []byte(`{"data":{"k":"v"}}`)),
		h.get(configMaps + "/a"),
	} {
		if again.code != 200 || !bytes.Equal(again.body, first.body) {
			t.Errorf("%d %s, want what was created: %s", again.code, again.body, first.body)
		}
	}
}

// TestDryRun: a dry run is answered like a write and stores nothing.
func TestDryRun(t *testing.T) {
	h := startServer(t, nil)
	dry := h.post(configMaps+"?dryRun=All", configMap("a", "{}"))
	dry.expect(t, 201, "")
	if bytes.Contains(dry.body, []byte("resourceVersion")) {
		t.Errorf("what does not exist has no revision: %s", dry.body)
	}
	for _, version := range []string{"5", "abc"} { // a resourceVersion is refused, or dropped, in a real create
		said := h.post(configMaps+"?dryRun=All", `{"metadata":{"name":"a","resourceVersion":"`+version+`"}}`)
		said.expect(t, 201, "")
		if got := said.field(t, "metadata.resourceVersion"); got != version {
			t.Errorf("a dry run answers with version %v, expected %s", got, version)
		}
	}
	h.get(configMaps+"/a").expect(t, 404, "NotFound")
	created := h.post(configMaps, configMap("a", "{}"))
	created.expect(t, 201, "")
	h.send("DELETE", configMaps+"/a?dryRun=All", "", nil).expect(t, 200, "")
	h.get(configMaps+"/a").expect(t, 200, "")

	const linked = `{"metadata":{"name":"a","selfLink":"/x"}}`
	for query, want := range map[string]any{"?dryRun=All": "/x", "": nil} {
		if got := h.send("PUT", configMaps+"/a"+query, "", []byte(linked)).field(t, "metadata.selfLink"); got != want {
			t.Errorf("after a PUT with %q the link is %v, expected %v", query, got, want)
		}
	}
	rv := h.get(configMaps+"/a").field(t, "metadata.resourceVersion")
	changed := h.send("PUT", configMaps+"/a?dryRun=All", "", []byte(configMap("a", `{"k":"v"}`)))
	changed.expect(t, 200, "")
	if got := changed.field(t, "metadata.resourceVersion"); got != rv || changed.field(t, "data.k") != "v" {
		t.Errorf("dry update at revision %v, want the stored one %v: %s", got, rv, changed.body)
	}
}

// TestPages walks a collection in pages while it changes, and finds the state
// of the first page.
func TestPages(t *testing.T) {
	h := startServer(t, nil)
	for i := range 7 {
		h.post(configMaps, configMap(fmt.Sprintf("c-%d", i), "{}")).expect(t, 201, "")
	}
	var names []string
	token := ""
	for page := 0; ; page++ {
		r := h.get(configMaps + "?limit=3&continue=" + token)
		r.expect(t, 200, "")
		items, _ := r.field(t, "items").([]any)
		for i := range items {
			names = append(names, r.field(t, fmt.Sprintf("items.%d.metadata.name", i)).(string))
		}
		if page == 0 {
			h.send("DELETE", configMaps+"/c-5", "", nil).expect(t, 200, "")
			h.post(configMaps, configMap("c-51", "{}")).expect(t, 201, "")
		}
		if n := r.field(t, "metadata.remainingItemCount"); page < 2 && n != 4.0-3*float64(page) || page == 2 && n != nil {
			t.Errorf("page %d: remainingItemCount %v", page, n)
		}
		if token, _ = r.field(t, "metadata.continue").(string); token == "" {
			break
		}
	}
	if got := strings.Join(names, " "); got != "c-0 c-1 c-2 c-3 c-4 c-5 c-6" {
		t.Errorf("pages gave %s", got)
	}
}

// TestStartFailsWithAReason: a wrong configuration names the setting.
func TestStartFailsWithAReason(t *testing.T) {
	_, err := server.Start(context.Background(), server.Config{DataDir: t.TempDir(), BindAddress: "not an address"})
	if err == nil || !strings.Contains(err.Error(), "not an address") {
		t.Errorf("error %v does not name the wrong value", err)
	}
}

// TestProfiles: profiles are for administrators.
func TestProfiles(t *testing.T) {
	h := startServer(t, nil)
	h.get("/debug/pprof/cmdline").expect(t, 200, "")
	if r := h.send("GET", "/debug/pprof/cmdline", "", nil, "Authorization", "Bearer bob-token"); r.code != 403 {
		t.Errorf("bob got %d", r.code)
	}
	off := startServer(t, func(c *server.Config) { c.DisableProfiling = true })
	off.get("/debug/pprof/cmdline").expect(t, 404, "")
}

// TestDeleteOptionsVersions: clients write the options in the version of the deleted
// object, whether it is served or not.
func TestDeleteOptionsVersions(t *testing.T) {
	h := startServer(t, nil)
	for version, code := range map[string]int{"v1": 200, "apps/v1": 200, "meta.k8s.io/v1": 200, "apps/v7": 200, "nosuch/v1": 200, "a/b/c": 400} {
		h.post(configMaps, configMap("a", "{}"))
		body := fmt.Sprintf(`{"kind":"DeleteOptions","apiVersion":%q}`, version)
		h.send("DELETE", configMaps+"/a", "application/json", []byte(body)).expect(t, code, "")
	}
}
