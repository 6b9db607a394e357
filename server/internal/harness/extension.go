package harness

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// Registrations is the collection of API services.
const Registrations = "/apis/apiregistration.k8s.io/v1/apiservices"

// Wardle is the path of the group version of extension servers in tests.
const Wardle = "/apis/wardle.example.com/v1alpha1"

// Extension is an extension server of the test. It trusts the certificates of proxies that
// its API server publishes.
type Extension struct {
	*httptest.Server
	keys   *pki.Credentials
	Port   string
	Answer atomic.Pointer[http.HandlerFunc]
	Asked  atomic.Int64
}

// wardleResources is the document by which it describes wardle.example.com/v1alpha1.
const wardleResources = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"wardle.example.com/v1alpha1","resources":[
	{"name":"flunders","singularName":"flunder","namespaced":true,"kind":"Flunder","verbs":["create","delete","deletecollection","get","list","watch"],"shortNames":["fl"]},
	{"name":"flunders/status","singularName":"","namespaced":true,"kind":"Flunder","verbs":["get"]}]}`

// wardleSecond is its OpenAPI v2 document, in which a definition of this server's has
// another shape, and wardleThird the list of its v3 documents.
const wardleSecond = `{"swagger":"2.0","info":{"title":"x","version":"1"},"paths":{"/version/":{"get":{"responses":{"200":{"description":"OK"}}}},
		"/apis/wardle.example.com/v1alpha1/flunders":{"get":{"operationId":"listFlunders","responses":{"200":{"description":"OK","schema":{"$ref":"#/definitions/com.example.wardle.v1alpha1.Flunder"}}}}}},
		"definitions":{"unused":{"type":"object"},"io.k8s.apimachinery.pkg.apis.meta.v1.Status":{"type":"string"},
		"io.k8s.apimachinery.pkg.apis.meta.v1.Time":{"description":"in other words","type":"string","format":"date-time"},
		"com.example.wardle.v1alpha1.Flunder":{"type":"object","x-kubernetes-group-version-kind":[{"group":"wardle.example.com","version":"v1alpha1","kind":"Flunder"}],
			"properties":{"status":{"$ref":"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status"},"since":{"$ref":"#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Time"}}}}}`

const wardleThird = `{"paths":{"apis/wardle.example.com/v1alpha1":{"serverRelativeURL":"/openapi/v3/apis/wardle.example.com/v1alpha1?hash=F00"},"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=WRONG"}}}`

// StartExtension starts an extension server behind the service ext of the namespace
// default. It answers discovery, and everything else with answer.
func (h *Server) StartExtension(answer http.HandlerFunc) *Extension {
	h.T.Helper()
	return h.StartExtensionAt("127.0.0.1", answer)
}

// StartExtensionAt is StartExtension for an address.
func (h *Server) StartExtensionAt(address string, answer http.HandlerFunc) *Extension {
	h.T.Helper()
	x := &Extension{keys: Certificates(h.T, "ext.default.svc")}
	x.Answers(answer)
	pair, err := tls.X509KeyPair(x.keys.Cert, x.keys.Key)
	if err != nil {
		h.T.Fatal(err)
	}
	trust := x509.NewCertPool()
	published, _ := h.Get("/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication").Field(h.T, "data.requestheader-client-ca-file").(string)
	trust.AppendCertsFromPEM([]byte(published))
	x.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x.Asked.Add(1)
		(*x.Answer.Load())(w, r)
	}))
	x.Server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: trust}
	if x.Listener, err = net.Listen("tcp", net.JoinHostPort(address, "0")); err != nil {
		h.T.Fatal(err)
	}
	x.EnableHTTP2 = true
	x.StartTLS()
	h.T.Cleanup(x.Close)
	h.T.Cleanup(x.CloseClientConnections)
	_, x.Port, _ = net.SplitHostPort(x.Listener.Addr().String())
	return x
}

// Answers replaces the answer of the extension server.
func (x *Extension) Answers(answer http.HandlerFunc) {
	discovering := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document := map[string]string{Wardle: wardleResources, "/openapi/v2": wardleSecond, "/openapi/v3": wardleThird}[r.URL.Path]
		if document != "" && r.Header.Get("X-Remote-User") == "system:kube-aggregator" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, document)
			return
		}
		answer(w, r)
	})
	x.Answer.Store(&discovering)
}

// Registration is the API service of an extension server.
func (x *Extension) Registration(spec string) string {
	if spec == "" {
		spec = `"caBundle":"` + base64.StdEncoding.EncodeToString(x.keys.CA) + `"`
	}
	return fmt.Sprintf(`{"metadata":{"name":"v1alpha1.wardle.example.com"},"spec":{"group":"wardle.example.com","version":"v1alpha1","groupPriorityMinimum":2000,"versionPriority":15,
		"service":{"namespace":"default","name":"ext","port":%s},%s}}`, x.Port, spec)
}

// Register makes the service and the API service of an extension server, and waits until
// it is available.
func (h *Server) Register(x *Extension) {
	h.T.Helper()
	h.Create("/api/v1/namespaces/default/services", `{"metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	h.Create(Registrations, x.Registration(""))
	h.AwaitAvailable("True", "Passed")
}

// AwaitAvailable waits for the condition of the API service of Wardle, and returns its message.
func (h *Server) AwaitAvailable(status, reason string) (message string) {
	h.T.Helper()
	h.Await(Registrations, func(o Contents) bool {
		list, _ := o.In("v1alpha1.wardle.example.com", "status.conditions").([]any)
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

// Soon shortens the times for extension servers.
func Soon(c *server.Config) {
	Shorten(c, func(d *seams.Durations) {
		d.ExtensionServers.Check, d.ExtensionServers.Retry = 50*time.Millisecond, 5*time.Millisecond
	})
}
