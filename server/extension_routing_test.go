package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
)

// TestExtensionRouting: with --enable-aggregator-routing an extension server is reached by
// a ready endpoint, whose port has the name of that of the service.
func TestExtensionRouting(t *testing.T) {
	machine := pki.MachineAddresses()
	if len(machine) == 0 {
		t.Skip("endpoints may not have a loopback address, and the machine has no other")
	}
	h := startServer(t, func(c *server.Config) { soon(c); c.EnableAggregatorRouting = true })
	x := h.startExtensionAt(machine[0], func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "from "+r.Host) })
	h.create("/api/v1/namespaces/default/services", `{"metadata":{"name":"ext"},"spec":{"ports":[{"name":"web","port":80},{"name":"api","port":443}]}}`)
	const endpoints = "/api/v1/namespaces/default/endpoints"
	subsets := func(addresses string) string {
		return fmt.Sprintf(`"subsets":[{%q:[{"ip":%q}],"ports":[{"name":"web","port":1},{"name":"api","port":%s}]}]`, addresses, machine[0], x.port)
	}
	h.create(endpoints, `{"metadata":{"name":"ext"},`+subsets("notReadyAddresses")+`}`)
	h.create(registrations, strings.Replace(x.registration(""), `"port":`+x.port, `"port":443`, 1))
	if got := h.awaitAvailable("False", "MissingEndpoints"); got != `endpoints for service/ext in "default" have no addresses with port name "api"` {
		t.Error(got)
	}
	h.mergePatch(endpoints+"/ext", `{`+subsets("addresses")+`}`)
	h.awaitAvailable("True", "Passed")
	if got := h.get(wardle + "/flunders"); got.code != 200 || !strings.HasSuffix(string(got.body), ":"+x.port) {
		t.Errorf("%d %s", got.code, got.body)
	}
	h.mergePatch(endpoints+"/ext", `{"subsets":[]}`)
	h.awaitAvailable("False", "MissingEndpoints")
	if got := h.get(wardle + "/flunders"); got.code != 503 || string(got.body) != "service unavailable\n" {
		t.Errorf("%d %s", got.code, got.body)
	}
}

// TestHangingExtensionServer: a server that does not answer its check delays no other.
func TestHangingExtensionServer(t *testing.T) {
	h := startServer(t, soon)
	hanging := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	slow := h.startExtension(hanging)
	slow.answer.Store(&hanging)
	x := h.startExtension(func(http.ResponseWriter, *http.Request) {})
	for i := range 5 {
		h.create(registrations, strings.ReplaceAll(slow.registration(""), "wardle.example.com", fmt.Sprintf("g%d.example.com", i)))
	}
	h.register(x)
	if got := h.get("/apis/g1.example.com/v1alpha1"); got.code != 503 {
		t.Errorf("%d %s", got.code, got.body)
	}
}
