package extensions_test

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
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// TestNamespaceOfExtensionServer: the end of a namespace deletes the objects that an
// extension server has in it, and waits for a server that is not available.
func TestNamespaceOfExtensionServer(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { harness.Soon(c); c.Controllers = []string{"*"} })
	var deleted atomic.Int64
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != harness.Wardle+"/namespaces/shop/flunders":
			t.Errorf("%s %s", r.Method, r.URL)
		case r.Method == "DELETE":
			deleted.Add(1)
		case deleted.Load() > 0:
			_, _ = io.WriteString(w, `{"items":[]}`)
		default:
			_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"a"}}]}`)
		}
	})
	h.Create(harness.Registrations, x.Registration(""))
	h.AwaitAvailable("False", "ServiceNotFound")
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`)
	h.Remove("/api/v1/namespaces/shop", "").Expect(t, 200, "")
	h.Await("/api/v1/namespaces", func(o harness.Contents) bool {
		return strings.Contains(harness.Conditions(o, "shop"), "NamespaceDeletionDiscoveryFailure=True")
	})
	h.Create("/api/v1/namespaces/default/services", `{"metadata":{"name":"ext"},"spec":{"type":"ExternalName","externalName":"localhost"}}`)
	h.AwaitAvailable("True", "Passed")
	h.AwaitGone("/api/v1/namespaces", "shop")
	if deleted.Load() != 1 {
		t.Errorf("%d deletes", deleted.Load())
	}
}

// TestQuotaOfExtensionServer: a quota counts the objects that an extension server has in the
// namespace, again and again; while the server is not available the number stays.
func TestQuotaOfExtensionServer(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		harness.Soon(c)
		c.Controllers = []string{"resourcequota"}
		harness.Shorten(c, func(d *seams.Durations) { d.Pauses.Quotas = 10 * time.Millisecond })
	})
	var number atomic.Int64
	number.Store(1201)
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "GET" || r.URL.Path != harness.Wardle+"/namespaces/default/flunders" || r.URL.Query().Get("limit") != "500" {
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
	h.Create(quotas, harness.QuotaOf("q", `"count/flunders.wardle.example.com":"2000","count/flunders.other.example.com":"1","configmaps":"3"`, ""))
	h.Create(quotas, harness.QuotaOf("scoped", `"count/flunders.wardle.example.com":"2000","pods":"1"`, `,"scopes":["BestEffort"]`))
	h.Await(quotas, harness.HasUsed("q", "configmaps", "0"))
	h.Register(x)
	h.Await(quotas, harness.HasUsed("q", "count/flunders.wardle.example.com", "1201"))
	h.Await(quotas, harness.HasUsed("scoped", "count/flunders.wardle.example.com", "0"))
	number.Store(7)
	h.Await(quotas, harness.HasUsed("q", "count/flunders.wardle.example.com", "7"))
	x.CloseClientConnections()
	x.Close()
	h.Create("/api/v1/namespaces/default/configmaps", harness.ConfigMap("a", `{}`))
	h.Await(quotas, harness.HasUsed("q", "configmaps", "1"))
	h.Run(t, []harness.Step{
		{"still counted", "GET", quotas + "/q", "", "", 200, `"used":{"configmaps":"1","count/flunders.wardle.example.com":"7"}`},
		{"the bounds change", "PATCH", quotas + "/q", harness.MergePatchMedia, `{"spec":{"hard":{"configmaps":"4"}}}`, 200, ""},
	})
	h.AwaitText(quotas+"/q", `"status":{"hard":{"configmaps":"4","count/flunders.other.example.com":"1","count/flunders.wardle.example.com":"2k"},"used":{"configmaps":"1","count/flunders.wardle.example.com":"7"}}`)
}
