package extensions_test

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestExtensionServer: requests for a group version of an extension server reach it as
// those of their user, whatever the client claims, and its answers reach the client.
func TestExtensionServer(t *testing.T) {
	h := harness.Start(t, harness.Soon)
	var seen *http.Request
	var body []byte
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("X-Flavour", "sweet")
		w.Header().Set("Keep-Alive", "timeout=1")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "made by "+r.Header.Get("X-Remote-User"))
	})
	if got := h.Get(harness.Wardle + "/flunders"); got.Code != 404 {
		t.Fatalf("before it is registered: %d %s", got.Code, got.Body)
	}
	h.Register(x)
	awaitAnswer(h, "/openapi/v3", "wardle") // its documents have been read
	got := h.Send("POST", harness.Wardle+"/namespaces/default/flunders?fieldManager=me&a=b%26c", "application/json", []byte(`{"a":1}`), "X-Remote-User", "eve", "X-Remote-Group", "system:masters",
		"X-Remote-Uid", "7", "X-Remote-Extra-Scope", "all", "X_remote_group", "system:masters", "X_remote-Extra_scope", "all", "Impersonate_user", "eve", "X-Custom", "stays", "X-Forwarded-For", "10.9.8.7", "Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.YWRtaW4, v4.channel.k8s.io")
	if got.Code != 201 || string(got.Body) != "made by admin" || got.Header.Get("X-Flavour") != "sweet" || got.Header.Get("Keep-Alive") != "" || got.Header.Get("Cache-Control") != "no-cache, private" {
		t.Fatalf("%d %s %v", got.Code, got.Body, got.Header)
	}
	if seen.ProtoMajor != 2 || seen.Host != "localhost:"+x.Port || seen.URL.Path != harness.Wardle+"/namespaces/default/flunders" || seen.URL.RawQuery != "a=b%26c&fieldManager=me" || string(body) != `{"a":1}` {
		t.Errorf("%s %s %s %s", seen.Proto, seen.Host, seen.URL, body)
	}
	for name, want := range map[string]string{"X-Remote-User": "[admin]", "X-Remote-Group": "[system:masters system:authenticated]", "X-Remote-Extra-Scope": "[]", "X-Remote-Uid": "[]",
		"X_remote_group": "[]", "X_remote-Extra_scope": "[]", "Impersonate_user": "[]",
		"Authorization": "[]", "X-Custom": "[stays]", "Sec-Websocket-Protocol": "[v4.channel.k8s.io]", "X-Forwarded-For": "[10.9.8.7, 127.0.0.1]", "X-Forwarded-Uri": "[" + harness.Wardle + "/namespaces/default/flunders]"} {
		if got := fmt.Sprint(seen.Header.Values(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// Authorization is here: bob has no rights.
	if got := h.Send("GET", harness.Wardle+"/namespaces/default/flunders/a", "", nil, "Authorization", "Bearer bob-token"); got.Code != 403 ||
		!strings.Contains(string(got.Body), `User \"bob\" cannot get resource \"flunders\" in API group \"wardle.example.com\" in the namespace \"default\"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for _, path := range []string{"/namespaces/default/flunders/%2e%2e/x", "//namespaces/default/flunders", "/namespaces/default/flunders/%2e%2e%2fx"} {
		if got := h.Get(harness.Wardle + path); got.Code != 400 {
			t.Errorf("%s, which may be another path for the server: %d %s", path, got.Code, got.Body)
		}
	}
	awaitAnswer(h, "/metrics", `apiserver_request_total{code="201",component="apiserver",dry_run="",group="wardle.example.com",resource="flunders",scope="resource",subresource="",verb="POST",version="v1alpha1"} `)
	h.Delete(harness.Registrations + "/v1alpha1.wardle.example.com")
	h.Get(harness.Wardle+"/flunders").Expect(t, 404, "")
}

// TestExtensionDiscovery: clients find the group versions of extension servers in the
// order of their priorities.
func TestExtensionDiscovery(t *testing.T) {
	h := harness.Start(t, harness.Soon)
	h.Define(harness.WidgetSchema, "")
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") })
	h.Register(x)
	var names []string
	for _, g := range h.Get("/apis").Field(t, "groups").([]any) {
		if name := g.(map[string]any)["name"].(string); name == "wardle.example.com" || name == "shop.example.com" {
			names = append(names, name)
		}
	}
	if fmt.Sprint(names) != "[wardle.example.com shop.example.com]" {
		t.Errorf("groups: %v", names)
	}
	if got := h.Get("/apis/wardle.example.com").Field(t, "preferredVersion.groupVersion"); got != "wardle.example.com/v1alpha1" {
		t.Errorf("group: %v", got)
	}
	if got := string(h.Get(harness.Wardle).Body); got != "{}" {
		t.Errorf("a document of the server: %s", got)
	}
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	want := `{"metadata":{"name":"wardle.example.com","creationTimestamp":null},"versions":[{"version":"v1alpha1","resources":[{"resource":"flunders",` +
		`"responseKind":{"group":"wardle.example.com","version":"v1alpha1","kind":"Flunder"},"scope":"Namespaced","singularResource":"flunder","verbs":["create","delete","deletecollection","get","list","watch"],"shortNames":["fl"],` +
		`"subresources":[{"subresource":"status","responseKind":{"group":"wardle.example.com","version":"v1alpha1","kind":"Flunder"},"verbs":["get"]}]}],"freshness":"Current"}]}`
	awaitAnswer(h, "/apis", want, "Accept", aggregated)
	second := h.Get("/openapi/v2")
	for field, want := range map[string]any{"paths./apis/wardle~example~com/v1alpha1/flunders.get.operationId": "listFlunders",
		"definitions.com~example~wardle~v1alpha1~Flunder.properties.status.$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status_v2",
		"definitions.com~example~wardle~v1alpha1~Flunder.properties.since.$ref":  "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Time",
		"definitions.io~k8s~apimachinery~pkg~apis~meta~v1~Status_v2.type":        "string",
		"definitions.io~k8s~apimachinery~pkg~apis~meta~v1~Status.type":           "object",
		"definitions.com~example~shop~v1~Widget.type":                            "object",
		"definitions.unused": nil} {
		var v any
		if err := json.Unmarshal(second.Body, &v); err != nil {
			t.Fatal(err)
		}
		for step := range strings.SplitSeq(field, ".") {
			m, _ := v.(map[string]any)
			v = m[strings.ReplaceAll(step, "~", ".")]
		}
		if v != want {
			t.Errorf("%s: %v, want %v", field, v, want)
		}
	}
	if got := h.Get("/openapi/v3").Body; !bytes.Contains(got, []byte(`"apis/wardle.example.com/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/wardle.example.com/v1alpha1?hash=F00"}`)) || bytes.Contains(got, []byte("WRONG")) {
		t.Errorf("%s", got)
	}
	x.Answers(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.String()) })
	if got := h.Get("/openapi/v3/apis/wardle.example.com/v1alpha1?hash=F00"); string(got.Body) != "/openapi/v3/apis/wardle.example.com/v1alpha1?hash=F00" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	garbage := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "garbage") })
	x.Answer.Store(&garbage)
	awaitAnswer(h, "/apis", strings.Replace(want, "Current", "Stale", 1), "Accept", aggregated)
	if body := string(h.Get("/").Body); !strings.Contains(body, `"`+harness.Wardle+`"`) || !strings.Contains(body, `"/apis/wardle.example.com"`) {
		t.Errorf("paths: %s", body)
	}
}

// awaitAnswer waits until an answer holds a text: what is read of extension servers has no
// watch.
func awaitAnswer(h *harness.Server, path, text string, header ...string) {
	h.T.Helper()
	var got harness.Reply
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got = h.Send("GET", path, "", nil, header...); bytes.Contains(got.Body, []byte(text)) {
			return
		}
	}
	h.T.Errorf("%s does not become %s: %s", path, text, got.Body)
}

// TestExtensionAvailability: the condition of an API service follows its service, its
// endpoints and its server, and requests are refused while it is not available.
func TestExtensionAvailability(t *testing.T) {
	h := harness.Start(t, harness.Soon)
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") })
	h.Create(harness.Registrations, x.Registration(""))
	if got := h.AwaitAvailable("False", "ServiceNotFound"); got != `service/ext in "default" is not present` {
		t.Error(got)
	}
	if got := h.Get(harness.Wardle + "/flunders"); got.Code != 503 || string(got.Body) != "service unavailable\n" || got.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %q %v", got.Code, got.Body, got.Header)
	}
	const services = "/api/v1/namespaces/default/services"
	h.Create(services, `{"metadata":{"name":"ext"},"spec":{"ports":[{"port":443}]}}`)
	if got := h.AwaitAvailable("False", "ServicePortError"); got != `service/ext in "default" is not listening on port `+x.Port {
		t.Error(got)
	}
	h.MergePatch(services+"/ext", `{"spec":{"ports":[{"port":`+x.Port+`}]}}`)
	if got := h.AwaitAvailable("False", "EndpointsNotFound"); got != `cannot find endpoints for service/ext in "default"` {
		t.Error(got)
	}
	h.Create("/api/v1/namespaces/default/endpoints", `{"metadata":{"name":"ext"}}`)
	if got := h.AwaitAvailable("False", "MissingEndpoints"); got != `endpoints for service/ext in "default" have no addresses with port name ""` {
		t.Error(got)
	}
	h.Delete(services + "/ext")
	h.AwaitAvailable("False", "ServiceNotFound")
	h.Create(services, `{"metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	h.AwaitAvailable("True", "Passed")
	before := h.Get(harness.Registrations+"/v1alpha1.wardle.example.com").Field(t, "metadata.resourceVersion")
	for asked := x.Asked.Load(); x.Asked.Load() < asked+20; time.Sleep(time.Millisecond) { // checks go on
	}
	if now := h.Get(harness.Registrations+"/v1alpha1.wardle.example.com").Field(t, "metadata.resourceVersion"); now != before {
		t.Errorf("a condition that has not changed was written: %v, %v", before, now)
	}
	failing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
	x.Answer.Store(&failing)
	url := "https://localhost:" + x.Port + harness.Wardle
	if got := h.AwaitAvailable("False", "FailedDiscoveryCheck"); got != fmt.Sprintf("failing or missing response from %s: bad status from %s: 500", url, url) {
		t.Error(got)
	}
	awaitAnswer(h, "/metrics", `aggregator_unavailable_apiservice{name="v1alpha1.wardle.example.com"} 1`)
	awaitAnswer(h, "/metrics", `aggregator_unavailable_apiservice_total{name="v1alpha1.wardle.example.com",reason="FailedDiscoveryCheck"} 1`)
	x.Answers(func(http.ResponseWriter, *http.Request) {})
	h.AwaitAvailable("True", "Passed")
	awaitAnswer(h, "/metrics", `aggregator_unavailable_apiservice{name="v1alpha1.wardle.example.com"} 0`)
	h.MergePatch(harness.Registrations+"/v1alpha1.wardle.example.com", `{"spec":{"service":null,"caBundle":null}}`)
	if got := h.AwaitAvailable("True", "Local"); got != "Local APIServices are always available" {
		t.Error(got)
	}
}

// TestExtensionServerCertificate: extension servers know this server by the given
// certificate, and by another one as soon as its files have that.
func TestExtensionServerCertificate(t *testing.T) {
	one, other := harness.Certificates(t), harness.Certificates(t)
	cert, key := harness.File(t, one.FrontCert), harness.File(t, one.FrontKey)
	h := harness.Start(t, func(c *server.Config) {
		harness.Soon(c)
		c.ProxyClientCertFile, c.ProxyClientKeyFile, c.RequestHeaderClientCAFile = cert, key, harness.File(t, append(bytes.Clone(one.FrontCA), other.FrontCA...))
	})
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.TLS.PeerCertificates[0].Raw}))
	})
	h.Register(x)
	if got := h.Get(harness.Wardle + "/flunders"); !bytes.Equal(got.Body, one.FrontCert) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	for path, text := range map[string][]byte{cert: other.FrontCert, key: other.FrontKey} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.Running.Reload()
	if got := h.Get(harness.Wardle + "/flunders"); !bytes.Equal(got.Body, other.FrontCert) {
		t.Errorf("after the change: %d %s", got.Code, got.Body)
	}
}
