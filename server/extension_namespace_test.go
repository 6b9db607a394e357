package server_test

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// TestNamespaceOfExtensionServer: the end of a namespace deletes the objects that an
// extension server has in it, and waits for a server that is not available.
func TestNamespaceOfExtensionServer(t *testing.T) {
	h := startServer(t, func(c *server.Config) { soon(c); c.Controllers = []string{"*"} })
	var deleted atomic.Int64
	x := h.startExtension(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != wardle+"/namespaces/shop/flunders":
			t.Errorf("%s %s", r.Method, r.URL)
		case r.Method == "DELETE":
			deleted.Add(1)
		case deleted.Load() > 0:
			_, _ = io.WriteString(w, `{"items":[]}`)
		default:
			_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"a"}}]}`)
		}
	})
	h.create(registrations, x.registration(""))
	h.awaitAvailable("False", "ServiceNotFound")
	h.create("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`)
	h.remove("/api/v1/namespaces/shop", "").expect(t, 200, "")
	h.await("/api/v1/namespaces", func(o contents) bool {
		return strings.Contains(conditions(o, "shop"), "NamespaceDeletionDiscoveryFailure=True")
	})
	h.create("/api/v1/namespaces/default/services", `{"metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	h.awaitAvailable("True", "Passed")
	h.awaitGone("/api/v1/namespaces", "shop")
	if deleted.Load() != 1 {
		t.Errorf("%d deletes", deleted.Load())
	}
}
