package extensions_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Objects go when their owner in an extension server is missing, and only then.
func TestOwnersInExtensionServers(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { harness.Soon(c); c.Controllers = []string{"*"} })
	var gone atomic.Bool
	var looked atomic.Int64
	x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
		_, name, _ := strings.Cut(r.URL.Path, "/namespaces/default/flunders/")
		missing := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","details":{"name":%q,"kind":"flunders"},"code":404}`, name)
		switch {
		case name == "there" && !gone.Load():
			_, _ = fmt.Fprintf(w, `{"kind": "Flunder", "metadata": {"name": %q, "uid": "0a0b0c0d-0000-4000-8000-00000000000a"}}`, name)
		case name == "there", name == "missing":
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, missing)
		case name == "nowhere": // some other server's answer
			http.NotFound(w, r)
		case name == "broken":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			_, _ = io.WriteString(w, `{}`)
		}
		looked.Add(1)
	})
	h.Register(x)
	const maps = "/api/v1/namespaces/default/configmaps"
	owned := func(name, kind, owner, uid string) {
		h.Create(maps, fmt.Sprintf(`{"metadata":{"name":%q,"ownerReferences":[{"apiVersion":"wardle.example.com/v1alpha1","kind":%q,"name":%q,"uid":"0a0b0c0d-0000-4000-8000-00000000000%s"}]}}`, name, kind, owner, uid))
	}
	owned("of-one-there", "Flunder", "there", "a")
	owned("of-an-unknown-kind", "Flounder", "there", "a")
	owned("of-one-nowhere", "Flunder", "nowhere", "a")
	owned("of-a-broken-one", "Flunder", "broken", "a")
	owned("of-an-odd-one", "Flunder", "odd", "a")
	owned("of-a-missing-one", "Flunder", "missing", "a")
	owned("of-an-earlier-one", "Flunder", "there", "b")
	h.AwaitGone(maps, "of-a-missing-one", "of-an-earlier-one")
	for looked.Load() < 6 {
		h.Get(maps)
	}
	for _, name := range []string{"of-one-there", "of-an-unknown-kind", "of-one-nowhere", "of-a-broken-one", "of-an-odd-one"} {
		h.Get(maps+"/"+name).Expect(t, http.StatusOK, "")
	}
	gone.Store(true)
	h.MergePatch(maps+"/of-one-there", `{"metadata":{"labels":{"a":"b"}}}`)
	h.AwaitGone(maps, "of-one-there")
}
