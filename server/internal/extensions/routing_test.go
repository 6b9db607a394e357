package extensions_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/identity/pki"
)

// TestExtensionRouting: with --enable-aggregator-routing an extension server is reached by
// a ready endpoint, whose port has the name of that of the service.
func TestExtensionRouting(t *testing.T) {
	machine := pki.MachineAddresses()
	if len(machine) == 0 {
		t.Skip("endpoints may not have a loopback address, and the machine has no other")
	}
	h := harness.Start(t, func(c *server.Config) { harness.Soon(c); c.EnableAggregatorRouting = true })
	x := h.StartExtensionAt(machine[0], func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "from "+r.Host) })
	h.Create("/api/v1/namespaces/default/services", `{"metadata":{"name":"ext"},"spec":{"ports":[{"name":"web","port":80},{"name":"api","port":443}]}}`)
	const endpoints = "/api/v1/namespaces/default/endpoints"
	subsets := func(addresses string) string {
		return fmt.Sprintf(`"subsets":[{%q:[{"ip":%q}],"ports":[{"name":"web","port":1},{"name":"api","port":%s}]}]`, addresses, machine[0], x.Port)
	}
	h.Create(endpoints, `{"metadata":{"name":"ext"},`+subsets("notReadyAddresses")+`}`)
	h.Create(harness.Registrations, strings.Replace(x.Registration(""), `"port":`+x.Port, `"port":443`, 1))
	if got := h.AwaitAvailable("False", "MissingEndpoints"); got != `endpoints for service/ext in "default" have no addresses with port name "api"` {
		t.Error(got)
	}
	h.MergePatch(endpoints+"/ext", `{`+subsets("addresses")+`}`)
	h.AwaitAvailable("True", "Passed")
	if got := h.Get(harness.Wardle + "/flunders"); got.Code != 200 || !strings.HasSuffix(string(got.Body), ":"+x.Port) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	h.MergePatch(endpoints+"/ext", `{"subsets":[]}`)
	h.AwaitAvailable("False", "MissingEndpoints")
	if got := h.Get(harness.Wardle + "/flunders"); got.Code != 503 || string(got.Body) != "service unavailable\n" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestHangingExtensionServer: a server that does not answer its check delays no other.
func TestHangingExtensionServer(t *testing.T) {
	h := harness.Start(t, harness.Soon)
	hanging := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	slow := h.StartExtension(hanging)
	slow.Answer.Store(&hanging)
	x := h.StartExtension(func(http.ResponseWriter, *http.Request) {})
	for i := range 5 {
		h.Create(harness.Registrations, strings.ReplaceAll(slow.Registration(""), "wardle.example.com", fmt.Sprintf("g%d.example.com", i)))
	}
	h.Register(x)
	if got := h.Get("/apis/g1.example.com/v1alpha1"); got.Code != 503 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
