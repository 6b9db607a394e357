package server_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
)

const (
	registrations = "/apis/apiregistration.k8s.io/v1/apiservices"
	wardle        = "/apis/wardle.example.com/v1alpha1"
)

// extension is an extension server of the test. It trusts the certificates of proxies that
// its API server publishes.
type extension struct {
	*httptest.Server
	keys   *pki.Credentials
	port   string
	answer atomic.Pointer[http.HandlerFunc]
	asked  atomic.Int64
}

// wardleResources is the document by which it describes wardle.example.com/v1alpha1.
const wardleResources = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"wardle.example.com/v1alpha1","resources":[
	{"name":"flunders","singularName":"flunder","namespaced":true,"kind":"Flunder","verbs":["create","delete","deletecollection","get","list","watch"],"shortNames":["fl"]},
	{"name":"flunders/status","singularName":"","namespaced":true,"kind":"Flunder","verbs":["get"]}]}`

// wardleSecond is its OpenAPI v2 document, in which a definition of this server's has
// another shape, and wardleThird the list of its v3 documents.
const (
	wardleSecond = `{"swagger":"2.0","info":{"title":"x","version":"1"},"paths":{"/version/":{"get":{"responses":{"200":{"description":"OK"}}}},
		"/apis/wardle.example.com/v1alpha1/flunders":{"get":{"operationId":"listFlunders","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/com.example.wardle.v1alpha1.Flunder"}}}}}},
		"definitions":{"unused":{"type":"object"},"io.k8s.apimachinery.pkg.apis.meta.v1.Status":{"type":"string"},
		"io.k8s.apimachinery.pkg.apis.meta.v1.Time":{"description":"in other words","type":"string","format":"date-time"},
		"com.example.wardle.v1alpha1.Flunder":{"type":"object","x-kubernetes-group-version-kind":[{"group":"wardle.example.com","version":"v1alpha1","kind":"Flunder"}],
			"properties":{"status":{"$ref":"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status"},"since":{"$ref":"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}}}}}`
	wardleThird = `{"paths":{"apis/wardle.example.com/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/wardle.example.com/v1alpha1?hash=F00"},"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=WRONG"}}}`
)

// startExtension starts an extension server behind the service ext of the namespace
// default. It answers discovery, and everything else with answer.
func (h *harness) startExtension(answer http.HandlerFunc) *extension {
	h.t.Helper()
	return h.startExtensionAt("127.0.0.1", answer)
}

func (h *harness) startExtensionAt(address string, answer http.HandlerFunc) *extension {
	h.t.Helper()
	x := &extension{keys: certificates(h.t, "ext.default.svc")}
	x.answers(answer)
	pair, err := tls.X509KeyPair(x.keys.Cert, x.keys.Key)
	if err != nil {
		h.t.Fatal(err)
	}
	trust := x509.NewCertPool()
	published, _ := h.get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication").field(h.t, "data.requestheader-client-ca-file").(string)
	trust.AppendCertsFromPEM([]byte(published))
	x.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.asked.Add(1)
		(*x.answer.Load())(w, r)
	}))
	x.Server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trust}
	if x.Listener, err = net.Listen("tcp", net.JoinHostPort(address, "0")); err != nil {
		h.t.Fatal(err)
	}
	x.EnableHTTP2 = true
	x.StartTLS()
	h.t.Cleanup(x.Close)
	h.t.Cleanup(x.CloseClientConnections)
	_, x.port, _ = net.SplitHostPort(x.Listener.Addr().String())
	return x
}

func (x *extension) answers(answer http.HandlerFunc) {
	discovering := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document := map[string]string{wardle: wardleResources, "/openapi/v2": wardleSecond, "/openapi/v3": wardleThird}[r.URL.Path]
		if document != "" && r.Header.Get("X-Remote-User") == "system:kube-aggregator" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, document)
			return
		}
		answer(w, r)
	})
	x.answer.Store(&discovering)
}

// registration is the API service of an extension server.
func (x *extension) registration(spec string) string {
	if spec == "" {
		spec = `"caBundle":"` + base64.StdEncoding.EncodeToString(x.keys.CA) + `"`
	}
	return fmt.Sprintf(`{"metadata":{"name":"v1alpha1.wardle.example.com"},"spec":{"group":"wardle.example.com","version":"v1alpha1","groupPriorityMinimum":2000,"versionPriority":15,
		"service":{"namespace":"default","name":"ext","port":%s},%s}}`, x.port, spec)
}

// register makes the service and the API service of an extension server, and waits until
// it is available.
func (h *harness) register(x *extension) {
	h.t.Helper()
	h.create("/api/v1/namespaces/default/services", `{"metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	h.create(registrations, x.registration(""))
	h.awaitAvailable("True", "Passed")
}

func (h *harness) awaitAvailable(status, reason string) (message string) {
	h.t.Helper()
	h.await(registrations, func(o contents) bool {
		list, _ := o.in("v1alpha1.wardle.example.com", "status.conditions").([]any)
		for _, c := range list {
			c := c.(map[string]any)
			if c["type"] == "Available" && c["status"] == status && c["reason"] == reason {
				message, _ = c["message"].(string)
				return true
			}
		}
		return false
	})
	return message
}

// soon shortens the times for extension servers.
func soon(c *server.Config) {
	c.Shorten(func(d *server.Durations) {
		d.ExtensionServers.Check, d.ExtensionServers.Retry = 50*time.Millisecond, 5*time.Millisecond
	})
}

// TestExtensionServer: requests for a group version of an extension server reach it as
// those of their user, whatever the client claims, and its answers reach the client.
func TestExtensionServer(t *testing.T) {
	h := startServer(t, soon)
	var seen *http.Request
	var body []byte
	x := h.startExtension(func(w http.ResponseWriter, r *http.Request) {
		seen = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("X-Flavour", "sweet")
		w.Header().Set("Keep-Alive", "timeout=1")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "made by "+r.Header.Get("X-Remote-User"))
	})
	if got := h.get(wardle + "/flunders"); got.code != 404 {
		t.Fatalf("before it is registered: %d %s", got.code, got.body)
	}
	h.register(x)
	h.awaitAnswer("/openapi/v3", "wardle") // its documents have been read
	got := h.send("POST", wardle+"/namespaces/default/flunders?fieldManager=me&a=b%26c", "application/json", []byte(`{"a":1}`), "X-Remote-User", "eve", "X-Remote-Group", "system:masters",
		"X-Remote-Uid", "7", "X-Remote-Extra-Scope", "all", "X_remote_group", "system:masters", "X_remote-Extra_scope", "all", "Impersonate_user", "eve", "X-Custom", "stays", "X-Forwarded-For", "10.9.8.7", "Sec-WebSocket-Protocol", "base64url.bearer.authorization.k8s.io.YWRtaW4, v4.channel.k8s.io")
	if got.code != 201 || string(got.body) != "made by admin" || got.header.Get("X-Flavour") != "sweet" || got.header.Get("Keep-Alive") != "" || got.header.Get("Cache-Control") != "no-cache, private" {
		t.Fatalf("%d %s %v", got.code, got.body, got.header)
	}
	if seen.ProtoMajor != 2 || seen.Host != "localhost:"+x.port || seen.URL.Path != wardle+"/namespaces/default/flunders" || seen.URL.RawQuery != "a=b%26c&fieldManager=me" || string(body) != `{"a":1}` {
		t.Errorf("%s %s %s %s", seen.Proto, seen.Host, seen.URL, body)
	}
	for name, want := range map[string]string{"X-Remote-User": "[admin]", "X-Remote-Group": "[system:masters system:authenticated]", "X-Remote-Extra-Scope": "[]", "X-Remote-Uid": "[]",
		"X_remote_group": "[]", "X_remote-Extra_scope": "[]", "Impersonate_user": "[]",
		"Authorization": "[]", "X-Custom": "[stays]", "Sec-Websocket-Protocol": "[v4.channel.k8s.io]", "X-Forwarded-For": "[10.9.8.7, 127.0.0.1]", "X-Forwarded-Uri": "[" + wardle + "/namespaces/default/flunders]"} {
		if got := fmt.Sprint(seen.Header.Values(name)); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	// Authorization is here: bob has no rights.
	if got := h.send("GET", wardle+"/namespaces/default/flunders/a", "", nil, "Authorization", "Bearer bob-token"); got.code != 403 ||
		!strings.Contains(string(got.body), `User \"bob\" cannot get resource \"flunders\" in API group \"wardle.example.com\" in the namespace \"default\"`) {
		t.Errorf("%d %s", got.code, got.body)
	}
	for _, path := range []string{"/namespaces/default/flunders/%2e%2e/x", "//namespaces/default/flunders", "/namespaces/default/flunders/%2e%2e%2fx"} {
		if got := h.get(wardle + path); got.code != 400 {
			t.Errorf("%s, which may be another path for the server: %d %s", path, got.code, got.body)
		}
	}
	h.awaitAnswer("/metrics", `apiserver_request_total{code="201",component="apiserver",dry_run="",group="wardle.example.com",resource="flunders",scope="resource",subresource="",verb="POST",version="v1alpha1"} `)
	h.delete(registrations + "/v1alpha1.wardle.example.com")
	h.get(wardle+"/flunders").expect(t, 404, "")
}

// TestExtensionDiscovery: clients find the group versions of extension servers in the
// order of their priorities.
func TestExtensionDiscovery(t *testing.T) {
	h := startServer(t, soon)
	h.define(widgetSchema, "")
	x := h.startExtension(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") })
	h.register(x)
	var names []string
	for _, g := range h.get("/apis").field(t, "groups").([]any) {
		if name := g.(map[string]any)["name"].(string); name == "wardle.example.com" || name == "shop.example.com" {
			names = append(names, name)
		}
	}
	if fmt.Sprint(names) != "[wardle.example.com shop.example.com]" {
		t.Errorf("groups: %v", names)
	}
	if got := h.get("/apis/wardle.example.com").field(t, "preferredVersion.groupVersion"); got != "wardle.example.com/v1alpha1" {
		t.Errorf("group: %v", got)
	}
	if got := string(h.get(wardle).body); got != "{}" {
		t.Errorf("a document of the server: %s", got)
	}
	const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	want := `{"metadata":{"name":"wardle.example.com","creationTimestamp":null},"versions":[{"version":"v1alpha1","resources":[{"resource":"flunders",` +
		`"responseKind":{"group":"wardle.example.com","version":"v1alpha1","kind":"Flunder"},"scope":"Namespaced","singularResource":"flunder","verbs":["create","delete","deletecollection","get","list","watch"],"shortNames":["fl"],` +
		`"subresources":[{"subresource":"status","responseKind":{"group":"wardle.example.com","version":"v1alpha1","kind":"Flunder"},"verbs":["get"]}]}],"freshness":"Current"}]}`
	h.awaitAnswer("/apis", want, "Accept", aggregated)
	second := h.get("/openapi/v2")
	for field, want := range map[string]any{"paths./apis/wardle~example~com/v1alpha1/flunders.get.operationId": "listFlunders",
		"definitions.com~example~wardle~v1alpha1~Flunder.properties.status.$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status_v2",
		"definitions.com~example~wardle~v1alpha1~Flunder.properties.since.$ref":  "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Time",
		"definitions.io~k8s~apimachinery~pkg~apis~meta~v1~Status_v2.type":        "string",
		"definitions.io~k8s~apimachinery~pkg~apis~meta~v1~Status.type":           "object",
		"definitions.com~example~shop~v1~Widget.type":                            "object",
		"definitions.unused": nil} {
		var v any
		if err := json.Unmarshal(second.body, &v); err != nil {
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
	if got := h.get("/openapi/v3").body; !bytes.Contains(got, []byte(`"apis/wardle.example.com/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/wardle.example.com/v1alpha1?hash=F00"}`)) || bytes.Contains(got, []byte("WRONG")) {
		t.Errorf("%s", got)
	}
	x.answers(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.String()) })
	if got := h.get("/openapi/v3/apis/wardle.example.com/v1alpha1?hash=F00"); string(got.body) != "/openapi/v3/apis/wardle.example.com/v1alpha1?hash=F00" {
		t.Errorf("%d %s", got.code, got.body)
	}
	garbage := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "garbage") })
	x.answer.Store(&garbage)
	h.awaitAnswer("/apis", strings.Replace(want, "Current", "Stale", 1), "Accept", aggregated)
	if body := string(h.get("/").body); !strings.Contains(body, `"`+wardle+`"`) || !strings.Contains(body, `"/apis/wardle.example.com"`) {
		t.Errorf("paths: %s", body)
	}
}

// awaitAnswer waits until an answer holds a text: what is read of extension servers has no
// watch.
func (h *harness) awaitAnswer(path, text string, header ...string) {
	h.t.Helper()
	var got reply
	for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if got = h.send("GET", path, "", nil, header...); bytes.Contains(got.body, []byte(text)) {
			return
		}
	}
	h.t.Errorf("%s does not become %s: %s", path, text, got.body)
}

// TestExtensionAvailability: the condition of an API service follows its service, its
// endpoints and its server, and requests are refused while it is not available.
func TestExtensionAvailability(t *testing.T) {
	h := startServer(t, soon)
	x := h.startExtension(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "{}") })
	h.create(registrations, x.registration(""))
	if got := h.awaitAvailable("False", "ServiceNotFound"); got != `service/ext in "default" is not present` {
		t.Error(got)
	}
	if got := h.get(wardle + "/flunders"); got.code != 503 || string(got.body) != "service unavailable\n" || got.header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%d %q %v", got.code, got.body, got.header)
	}
	const services = "/api/v1/namespaces/default/services"
	h.create(services, `{"metadata":{"name":"ext"},"spec":{"ports":[{"port":443}]}}`)
	if got := h.awaitAvailable("False", "ServicePortError"); got != `service/ext in "default" is not listening on port `+x.port {
		t.Error(got)
	}
	h.mergePatch(services+"/ext", `{"spec":{"ports":[{"port":`+x.port+`}]}}`)
	if got := h.awaitAvailable("False", "EndpointsNotFound"); got != `cannot find endpoints for service/ext in "default"` {
		t.Error(got)
	}
	h.create("/api/v1/namespaces/default/endpoints", `{"metadata":{"name":"ext"}}`)
	if got := h.awaitAvailable("False", "MissingEndpoints"); got != `endpoints for service/ext in "default" have no addresses with port name ""` {
		t.Error(got)
	}
	h.delete(services + "/ext")
	h.awaitAvailable("False", "ServiceNotFound")
	h.create(services, `{"metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	h.awaitAvailable("True", "Passed")
	before := h.get(registrations+"/v1alpha1.wardle.example.com").field(t, "metadata.resourceVersion")
	for asked := x.asked.Load(); x.asked.Load() < asked+20; time.Sleep(time.Millisecond) { // checks go on
	}
	if now := h.get(registrations+"/v1alpha1.wardle.example.com").field(t, "metadata.resourceVersion"); now != before {
		t.Errorf("a condition that has not changed was written: %v, %v", before, now)
	}
	failing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) })
	x.answer.Store(&failing)
	url := "https://localhost:" + x.port + wardle
	if got := h.awaitAvailable("False", "FailedDiscoveryCheck"); got != fmt.Sprintf("failing or missing response from %s: bad status from %s: 500", url, url) {
		t.Error(got)
	}
	h.awaitAnswer("/metrics", `aggregator_unavailable_apiservice{name="v1alpha1.wardle.example.com"} 1`)
	h.awaitAnswer("/metrics", `aggregator_unavailable_apiservice_total{name="v1alpha1.wardle.example.com",reason="FailedDiscoveryCheck"} 1`)
	x.answers(func(http.ResponseWriter, *http.Request) {})
	h.awaitAvailable("True", "Passed")
	h.awaitAnswer("/metrics", `aggregator_unavailable_apiservice{name="v1alpha1.wardle.example.com"} 0`)
	h.mergePatch(registrations+"/v1alpha1.wardle.example.com", `{"spec":{"service":null,"caBundle":null}}`)
	if got := h.awaitAvailable("True", "Local"); got != "Local APIServices are always available" {
		t.Error(got)
	}
}

// TestExtensionServerCertificate: extension servers know this server by the given
// certificate, and by another one as soon as its files have that.
func TestExtensionServerCertificate(t *testing.T) {
	one, other := certificates(t), certificates(t)
	cert, key := file(t, one.FrontCert), file(t, one.FrontKey)
	h := startServer(t, func(c *server.Config) {
		soon(c)
		c.ProxyClientCertFile, c.ProxyClientKeyFile, c.RequestHeaderClientCAFile = cert, key, file(t, append(bytes.Clone(one.FrontCA), other.FrontCA...))
	})
	x := h.startExtension(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.TLS.PeerCertificates[0].Raw}))
	})
	h.register(x)
	if got := h.get(wardle + "/flunders"); !bytes.Equal(got.body, one.FrontCert) {
		t.Errorf("%d %s", got.code, got.body)
	}
	for path, text := range map[string][]byte{cert: other.FrontCert, key: other.FrontKey} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.server.Reload()
	if got := h.get(wardle + "/flunders"); !bytes.Equal(got.body, other.FrontCert) {
		t.Errorf("after the change: %d %s", got.code, got.body)
	}
}
