package harness

import (
	"crypto/tls"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// NodeAgent is the HTTPS endpoint of a node, which accepts this server's certificate only.
type NodeAgent struct {
	*httptest.Server
	Port string
}

// StartAgent starts the agent of a node, which answers requests with the server's client
// certificate.
func StartAgent(t *testing.T, handle http.HandlerFunc) *NodeAgent {
	a := &NodeAgent{}
	a.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.TLS.PeerCertificates) == 0 || r.TLS.PeerCertificates[0].Subject.CommonName != "given" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if r.Header.Get("Authorization") != "" {
			t.Errorf("%s: the agent got %s", r.URL, r.Header.Get("Authorization"))
		}
		handle(w, r)
	}))
	a.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	a.EnableHTTP2 = true
	a.StartTLS()
	t.Cleanup(a.Close)
	_, a.Port, _ = net.SplitHostPort(a.Listener.Addr().String())
	return a
}

// Trust makes a server trust the agent, and gives it a certificate.
func (a *NodeAgent) Trust(t *testing.T, c *server.Config) {
	c.KubeletClientCertFile, c.KubeletClientKeyFile = NewAuthority(t)
	c.KubeletCAFile = File(t, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.Certificate().Raw}))
	c.ConnectToLocalAddresses = true
}

// Place makes the node n, whose agent this is, and the pod p on it.
func (a *NodeAgent) Place(h *Server) {
	h.Run(h.T, []Step{
		{"node", "POST", "/api/v1/nodes", "", `{"metadata":{"name":"n"}}`, 201, ""},
		{"address", "PATCH", "/api/v1/nodes/n/status", MergePatchMedia, `{"status":{"addresses":[{"type":"InternalIP","address":"127.0.0.1"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":` + a.Port + `}}}}`, 200, ""},
		{"pod", "POST", PodsPath, "", `{"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i","ports":[{"containerPort":` + a.Port + `}]}]}}`, 201, ""},
	})
}
