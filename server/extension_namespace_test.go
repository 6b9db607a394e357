package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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

// TestQuotaOfExtensionServer: a quota counts the objects that an extension server has in the
// namespace, again and again; while the server is not available the number stays.
func TestQuotaOfExtensionServer(t *testing.T) {
	h := startServer(t, func(c *server.Config) {
		soon(c)
		c.Controllers = []string{"resourcequota"}
		c.Shorten(func(d *server.Durations) { d.Pauses.Quotas = 10 * time.Millisecond })
	})
	var number atomic.Int64
	number.Store(1201)
	x := h.startExtension(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" || r.URL.Path != wardle+"/namespaces/default/flunders" || r.URL.Query().Get("limit") != "500" {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
		to, next := min(from+500, int(number.Load())), ""
		if to < int(number.Load()) {
			next = strconv.Itoa(to)
		}
		_, _ = fmt.Fprintf(w, `{"kind":"FlunderList","metadata":{"continue":%q},"items":[%s]}`, next, strings.TrimSuffix(strings.Repeat("{},", to-from), ","))
	})
	quotas := "/api/v1/namespaces/default/resourcequotas"
	h.create(quotas, quotaOf("q", `"count/flunders.wardle.example.com":"2000","count/flunders.other.example.com":"1","configmaps":"3"`, ""))
	h.create(quotas, quotaOf("scoped", `"count/flunders.wardle.example.com":"2000","pods":"1"`, `,"scopes":["BestEffort"]`))
	h.await(quotas, hasUsed("q", "configmaps", "0"))
	h.register(x)
	h.await(quotas, hasUsed("q", "count/flunders.wardle.example.com", "1201"))
	h.await(quotas, hasUsed("scoped", "count/flunders.wardle.example.com", "0"))
	number.Store(7)
	h.await(quotas, hasUsed("q", "count/flunders.wardle.example.com", "7"))
	x.CloseClientConnections()
	x.Close()
	h.create("/api/v1/namespaces/default/configmaps", configMap("a", `{}`))
	h.await(quotas, hasUsed("q", "configmaps", "1"))
	h.run(t, []step{
		{"still counted", "GET", quotas + "/q", "", "", 200, `"used":{"configmaps":"1","count/flunders.wardle.example.com":"7"}`},
		{"the bounds change", "PATCH", quotas + "/q", mergeType, `{"spec":{"hard":{"configmaps":"4"}}}`, 200, ""},
	})
	h.awaitText(quotas+"/q", `"status":{"hard":{"configmaps":"4","count/flunders.other.example.com":"1","count/flunders.wardle.example.com":"2k"},"used":{"configmaps":"1","count/flunders.wardle.example.com":"7"}}`)
}
