package serve_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestBadInput sends mistakes and attacks of clients.
func TestBadInput(t *testing.T) {
	h := harness.Start(t, nil)
	h.Post(harness.ConfigMaps, harness.ConfigMap("there", `{"a":"1"}`)).Expect(t, 201, "")
	before := h.Get(harness.ConfigMaps).Field(t, "metadata.resourceVersion")
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
		{"truncated JSON", "POST", harness.ConfigMaps, "application/json", `{"apiVersion":"v1",`, 400, "BadRequest"},
		{"not JSON", "POST", harness.ConfigMaps, "application/json", "hello", 400, "BadRequest"},
		{"malformed YAML", "POST", harness.ConfigMaps, "application/yaml", "a: [", 400, "BadRequest"},
		{"no body", "POST", harness.ConfigMaps, "application/json", "", 400, "BadRequest"},
		{"wrong kind", "POST", harness.ConfigMaps, "application/json", `{"apiVersion":"v1","kind":"Secret","metadata":{"name":"x"}}`, 400, "BadRequest"},
		{"wrong apiVersion", "POST", harness.ConfigMaps, "application/json", `{"apiVersion":"v2","kind":"ConfigMap","metadata":{"name":"x"}}`, 400, "BadRequest"},
		{"wrong type", "POST", harness.ConfigMaps, "application/json", `{"metadata":{"name":"x"},"data":{"a":1}}`, 400, "BadRequest"},
		{"name differs from path", "PUT", harness.ConfigMaps + "/there", "application/json", harness.ConfigMap("other", "{}"), 400, "BadRequest"},
		{"namespace differs from path", "POST", harness.ConfigMaps, "application/json", `{"metadata":{"name":"x","namespace":"kube-system"}}`, 400, "BadRequest"},
		{"object too large", "POST", "/apis/apps/v1/namespaces/default/controllerrevisions", "application/json",
			`{"metadata":{"name":"big"},"revision":1,"data":{"a":"` + strings.Repeat("x", 1600<<10) + `"}}`, 413, "RequestEntityTooLarge"},
		{"request too large", "POST", harness.ConfigMaps, "application/json", harness.ConfigMap("big", `{"a":"`+strings.Repeat("x", 4<<20)+`"}`), 413, "RequestEntityTooLarge"},
		{"alias bomb", "POST", harness.ConfigMaps, "application/yaml", bomb, 400, "BadRequest"},
		{"deep nesting", "POST", harness.ConfigMaps, "application/json", deep, 400, "BadRequest"},
		{"three megabytes of brackets", "POST", harness.ConfigMaps, "application/json", strings.Repeat("[", 3<<20-1), 400, "BadRequest"},
		{"unknown media type", "POST", harness.ConfigMaps, "text/csv", "a,b", 415, "UnsupportedMediaType"},
		{"unknown patch type", "PATCH", harness.ConfigMaps + "/there", "application/json", "{}", 415, "UnsupportedMediaType"},
		{"unknown resource", "GET", "/api/v1/namespaces/default/nosuch", "", "", 404, "NotFound"},
		{"unknown version", "GET", "/apis/apps/v7/things", "", "", 404, "NotFound"},
		{"unknown group", "GET", "/apis/nosuch/v1/things", "", "", 404, ""},
		{"unknown path", "GET", "/nosuch", "", "", 404, ""},
		{"missing object", "GET", harness.ConfigMaps + "/nosuch", "", "", 404, "NotFound"},
		{"missing namespace", "POST", "/api/v1/namespaces/nosuch/configmaps", "application/json", harness.ConfigMap("x", "{}"), 404, "NotFound"},
		{"unknown verb", "PATCH", harness.ConfigMaps, "application/merge-patch+json", "{}", 405, "MethodNotAllowed"},
		{"unknown method", "BREW", harness.ConfigMaps, "", "", 405, "MethodNotAllowed"},
		{"stale resourceVersion", "PUT", harness.ConfigMaps + "/there", "application/json", `{"metadata":{"name":"there","resourceVersion":"1"}}`, 409, "Conflict"},
		{"garbage resourceVersion", "PUT", harness.ConfigMaps + "/there", "application/json", `{"metadata":{"name":"there","resourceVersion":"abc"}}`, 400, "BadRequest"},
		{"taken name", "POST", harness.ConfigMaps, "application/json", harness.ConfigMap("there", "{}"), 409, "AlreadyExists"},
		{"wrong name", "POST", harness.ConfigMaps, "application/json", harness.ConfigMap("Not_a_name", "{}"), 422, "Invalid"},
		{"dots in the path", "GET", "/api/v1/namespaces/default/configmaps/%2e%2e", "", "", 400, "BadRequest"},
		{"slash in a name", "GET", harness.ConfigMaps + "/a%2fb", "", "", 400, "BadRequest"},
		{"NUL in a name", "GET", harness.ConfigMaps + "/a%00b", "", "", 400, "BadRequest"},
		{"future revision", "GET", harness.ConfigMaps + "?resourceVersion=999999999&resourceVersionMatch=Exact", "", "", 504, "Timeout"},
		{"edited page token", "GET", harness.ConfigMaps + "?limit=1&continue=AAAA", "", "", 400, "BadRequest"},
		{"too many patch operations", "PATCH", harness.ConfigMaps + "/there", "application/json-patch+json",
			"[" + strings.Repeat(`{"op":"test","path":"/data/a","value":"1"},`, 10001) + `{"op":"test","path":"/data/a","value":"1"}]`, 413, "RequestEntityTooLarge"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.Send(test.method, test.path, test.contentType, []byte(test.body)).Expect(t, test.code, test.reason)
		})
	}
	if after := h.Get(harness.ConfigMaps).Field(t, "metadata.resourceVersion"); after != before {
		t.Errorf("bad input moved the revision from %v to %v: something was written", before, after)
	}
}

// TestWhoMayDoWhat checks the rules that hold without further authorizers.
func TestWhoMayDoWhat(t *testing.T) {
	h := harness.Start(t, nil)
	for _, test := range []struct {
		token, path string
		code        int
	}{
		{"bob-token", harness.ConfigMaps, 403}, {"bob-token", "/api", 200}, {"bob-token", "/apis/apps/v1", 200}, {"bob-token", "/openapi/v2", 200},
		{"bob-token", "/version", 200}, {"bob-token", "/nosuch", 403}, {"wrong", "/version", 401},
		{"", "/version", 200}, {"", "/readyz", 200}, {"", "/api", 403}, {"", harness.ConfigMaps, 403}, {harness.AdminToken, "/nosuch", 404},
	} {
		authorization := ""
		if test.token != "" {
			authorization = "Bearer " + test.token
		}
		if got := h.Send("GET", test.path, "", nil, "Authorization", authorization); got.Code != test.code {
			t.Errorf("%q on %s: %d, want %d: %s", test.token, test.path, got.Code, test.code, got.Body)
		}
	}
	// In an impossible name a slash counts as one of the path.
	if got := h.Send("GET", harness.ConfigMaps+"/a%2Fx", "", nil, "Authorization", ""); got.Field(t, "details.name") != "a" || !strings.Contains(string(got.Body), `resource \"configmaps/x\"`) {
		t.Errorf("%s", got.Body)
	}
}

// TestOpenAPIForms requests the documents as clients of several ages do.
func TestOpenAPIForms(t *testing.T) {
	h := harness.Start(t, nil)
	for _, path := range []string{"/openapi/v2", "/openapi/v3/apis/apps/v1"} {
		if got := h.Send("GET", path, "", nil, "Accept", "application/yaml"); got.Code != 406 {
			t.Errorf("%s as YAML: %d", path, got.Code)
		}
		h.Send("GET", path, "", nil, "Accept", "text/html,*/*;q=0.1").Expect(t, 200, "")
	}
	for _, test := range []struct{ path, accept, want, begins string }{
		{"/openapi/v2", "", "application/json", "{"},
		{"/openapi/v2", "application/json", "application/json", "{"},
		{"/openapi/v2", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf", "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "\n\x032.0"},
		{"/openapi/v3", "application/com.github.proto-openapi.spec.v3@v1.0+protobuf", "application/json", "{"},
		{"/openapi/v3/apis/apps/v1", "application/json", "application/json", "{"},
	} {
		r := h.Send("GET", test.path, "", nil, "Accept", test.accept)
		if got := r.Header.Get("Content-Type"); r.Code != 200 || got != test.want || !bytes.HasPrefix(r.Body, []byte(test.begins)) {
			t.Errorf("%s as %q: %d %s %.40q, want 200 %s %q", test.path, test.accept, r.Code, got, r.Body, test.want, test.begins)
		}
	}
}

// TestOpenAPINames looks for kinds by the names that generated clients know from 1.25, which
// are not those of the groups.
func TestOpenAPINames(t *testing.T) {
	definitions, _ := harness.Start(t, nil).Get("/openapi/v2").Field(t, "definitions").(map[string]any)
	for _, name := range []string{"api.core.v1.Pod", "api.rbac.v1.Role", "api.flowcontrol.v1beta2.FlowSchema", "api.networking.v1.Ingress",
		"kube-aggregator.pkg.apis.apiregistration.v1.APIService"} {
		if definitions["io.k8s."+name] == nil {
			t.Errorf("no definition io.k8s.%s", name)
		}
	}
}

// TestManyServersInOneProcess starts several servers and checks that they share nothing.
func TestManyServersInOneProcess(t *testing.T) {
	a, b := harness.Start(t, nil), harness.Start(t, nil)
	a.Post(harness.ConfigMaps, harness.ConfigMap("only-a", "{}")).Expect(t, 201, "")
	b.Get(harness.ConfigMaps+"/only-a").Expect(t, 404, "NotFound")
}

// TestNothingChanged: an update that changes nothing keeps its bytes
// and its revision.
func TestNothingChanged(t *testing.T) {
	h := harness.Start(t, nil)
	first := h.Post(harness.ConfigMaps, harness.ConfigMap("a", `{"k":"v"}`))
	first.Expect(t, 201, "")
	for _, again := range []harness.Reply{
		h.Send("PUT", harness.ConfigMaps+"/a", "application/json", []byte(` { "data" : {"k":"v"}, "metadata":{"name":"a"} } `)),
		h.Send("PATCH", harness.ConfigMaps+"/a", "application/merge-patch+json", []byte(`{"data":{"k":"v"}}`)),
		h.Get(harness.ConfigMaps + "/a"),
	} {
		if again.Code != 200 || !bytes.Equal(again.Body, first.Body) {
			t.Errorf("%d %s, want what was created: %s", again.Code, again.Body, first.Body)
		}
	}
}

// TestDryRun: a dry run is answered like a write and stores nothing.
func TestDryRun(t *testing.T) {
	h := harness.Start(t, nil)
	dry := h.Post(harness.ConfigMaps+"?dryRun=All", harness.ConfigMap("a", "{}"))
	dry.Expect(t, 201, "")
	if bytes.Contains(dry.Body, []byte("resourceVersion")) {
		t.Errorf("what does not exist has no revision: %s", dry.Body)
	}
	for _, version := range []string{"5", "abc"} { // a resourceVersion is refused, or dropped, in a real create
		said := h.Post(harness.ConfigMaps+"?dryRun=All", `{"metadata":{"name":"a","resourceVersion":"`+version+`"}}`)
		said.Expect(t, 201, "")
		if got := said.Field(t, "metadata.resourceVersion"); got != version {
			t.Errorf("a dry run answers with version %v, expected %s", got, version)
		}
	}
	h.Get(harness.ConfigMaps+"/a").Expect(t, 404, "NotFound")
	created := h.Post(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	created.Expect(t, 201, "")
	h.Send("DELETE", harness.ConfigMaps+"/a?dryRun=All", "", nil).Expect(t, 200, "")
	h.Get(harness.ConfigMaps+"/a").Expect(t, 200, "")

	const linked = `{"metadata":{"name":"a","selfLink":"/x"}}`
	for query, want := range map[string]any{"?dryRun=All": "/x", "": nil} {
		if got := h.Send("PUT", harness.ConfigMaps+"/a"+query, "", []byte(linked)).Field(t, "metadata.selfLink"); got != want {
			t.Errorf("after a PUT with %q the link is %v, expected %v", query, got, want)
		}
	}
	rv := h.Get(harness.ConfigMaps+"/a").Field(t, "metadata.resourceVersion")
	changed := h.Send("PUT", harness.ConfigMaps+"/a?dryRun=All", "", []byte(harness.ConfigMap("a", `{"k":"v"}`)))
	changed.Expect(t, 200, "")
	if got := changed.Field(t, "metadata.resourceVersion"); got != rv || changed.Field(t, "data.k") != "v" {
		t.Errorf("dry update at revision %v, want the stored one %v: %s", got, rv, changed.Body)
	}
}

// TestPages walks a collection in pages while it changes, and finds the state
// of the first page.
func TestPages(t *testing.T) {
	h := harness.Start(t, nil)
	for i := range 7 {
		h.Post(harness.ConfigMaps, harness.ConfigMap(fmt.Sprintf("c-%d", i), "{}")).Expect(t, 201, "")
	}
	var names []string
	token := ""
	for page := 0; ; page++ {
		r := h.Get(harness.ConfigMaps + "?limit=3&continue=" + token)
		r.Expect(t, 200, "")
		items, _ := r.Field(t, "items").([]any)
		for i := range items {
			names = append(names, r.Field(t, fmt.Sprintf("items.%d.metadata.name", i)).(string))
		}
		if page == 0 {
			h.Send("DELETE", harness.ConfigMaps+"/c-5", "", nil).Expect(t, 200, "")
			h.Post(harness.ConfigMaps, harness.ConfigMap("c-51", "{}")).Expect(t, 201, "")
		}
		if n := r.Field(t, "metadata.remainingItemCount"); page < 2 && n != 4.0-3*float64(page) || page == 2 && n != nil {
			t.Errorf("page %d: remainingItemCount %v", page, n)
		}
		if token, _ = r.Field(t, "metadata.continue").(string); token == "" {
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
	h := harness.Start(t, nil)
	h.Get("/debug/pprof/cmdline").Expect(t, 200, "")
	if r := h.Send("GET", "/debug/pprof/cmdline", "", nil, "Authorization", "Bearer bob-token"); r.Code != 403 {
		t.Errorf("bob got %d", r.Code)
	}
	off := harness.Start(t, func(c *server.Config) { c.DisableProfiling = true })
	off.Get("/debug/pprof/cmdline").Expect(t, 404, "")
}

// TestProfilesNameRequests: the samples of a profile say whose requests they are of.
func TestProfilesNameRequests(t *testing.T) {
	h := harness.Start(t, nil)
	ended := make(chan []byte, 1)
	go func() { ended <- h.Get("/debug/pprof/profile?seconds=1").Body }()
	for n := 0; ; n++ {
		h.Post(harness.ConfigMaps, harness.ConfigMap(fmt.Sprint("c", n), "{}")).Expect(t, 201, "")
		select {
		case packed := <-ended:
			r, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(r)
			if err != nil || !bytes.Contains(text, []byte("POST configmaps")) {
				t.Errorf("a profile of %d creates lacks their label (%v)", n, err)
			}
			return
		default:
		}
	}
}

// TestDeleteOptionsVersions: clients write the options in the version of the deleted
// object, whether it is served or not.
func TestDeleteOptionsVersions(t *testing.T) {
	h := harness.Start(t, nil)
	for version, code := range map[string]int{"v1": 200, "apps/v1": 200, "meta.k8s.io/v1": 200, "apps/v7": 200, "nosuch/v1": 200, "a/b/c": 400} {
		h.Post(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
		body := fmt.Sprintf(`{"kind":"DeleteOptions","apiVersion":%q}`, version)
		h.Send("DELETE", harness.ConfigMaps+"/a", "application/json", []byte(body)).Expect(t, code, "")
	}
}
