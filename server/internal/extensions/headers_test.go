package extensions_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// The id in audit events and the classification in an answer are those of this server,
// whatever an extension server sends: in an answer, before one, and when it takes the
// connection over.
func TestHeadersThatExtensionServersCannotGive(t *testing.T) {
	const schema, level = "X-Kubernetes-Pf-Flowschema-Uid", "X-Kubernetes-Pf-Prioritylevel-Uid"
	own := []string{"Audit-Id", schema, level}
	for name, change := range map[string]func(*server.Config){
		"with headers of its own": func(c *server.Config) { c.DisablePriorityAndFairness = false },
		"without":                 func(*server.Config) {},
	} {
		h, _ := harness.StartAudited(t, map[string]string{"without": "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None}]\n"}[name], func(c *server.Config) {
			harness.Soon(c)
			change(c)
		})
		x := h.StartExtension(func(w http.ResponseWriter, r *http.Request) {
			header := w.Header()
			for _, name := range own {
				header.Set(name, "forged")
			}
			header.Set("X-Flavour", "sweet")
			switch {
			case r.Header.Get("Upgrade") != "":
				header.Set("Upgrade", r.Header.Get("Upgrade"))
				header.Set("Connection", "Upgrade")
				w.WriteHeader(http.StatusSwitchingProtocols)
				return
			case strings.HasSuffix(r.URL.Path, "/early"):
				w.WriteHeader(http.StatusEarlyHints)
			}
			_, _ = io.WriteString(w, "{}")
		})
		h.Register(x)
		want := map[string]string{"Audit-Id": "mine", schema: "", level: ""}
		if name == "without" {
			want["Audit-Id"] = ""
		} else {
			local := h.Get("/api/v1/namespaces/default/configmaps").Header
			want[schema], want[level] = local.Get(schema), local.Get(level)
			if want[schema] == "" || want[level] == "" {
				t.Fatalf("an answer of the server itself is not classified: %v", local)
			}
		}
		check := func(path string, got http.Header) {
			t.Helper()
			if got.Get("X-Flavour") != "sweet" {
				t.Errorf("%s, %s: the other headers are missing: %v", name, path, got)
			}
			for header, value := range want {
				if all := strings.Join(got.Values(header), " and "); all != value {
					t.Errorf("%s, %s: %s is %q, want %q", name, path, header, all, value)
				}
			}
		}
		for _, path := range []string{"/plain", "/early"} {
			got := h.Send("GET", harness.Wardle+"/namespaces/default/flunders"+path, "", nil, "Audit-Id", "mine")
			if got.Expect(t, 200, ""); got.Header.Get("Cache-Control") != "no-cache, private" {
				t.Errorf("%s, %s: %v", name, path, got.Header)
			}
			check(path, got.Header)
		}
		conn := h.Line("http/1.1", "GET "+harness.Wardle+"/namespaces/default/flunders/up HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+harness.AdminToken+"\r\nAudit-Id: mine\r\nConnection: Upgrade\r\nUpgrade: taste\r\n\r\n")
		got, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || got.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%s: %v %v", name, got, err)
		}
		check("/up", got.Header)
	}
}
