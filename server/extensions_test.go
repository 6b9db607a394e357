package server_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

func TestWhatExtensionServersAreTold(t *testing.T) {
	const path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"
	h := startServer(t, nil)
	r := h.get(path)
	r.expect(t, 200, "")
	if ca, _ := r.field(t, "data.client-ca-file").(string); !strings.Contains(ca, string(h.server.CA())) {
		t.Errorf("client authorities: %q", ca)
	}
	if got := r.field(t, "data.requestheader-client-ca-file"); got != nil {
		t.Errorf("without a proxy: %v", got)
	}
	file := filepath.Join(t.TempDir(), "proxy.crt")
	if err := os.WriteFile(file, h.server.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	h = startServer(t, func(c *server.Config) {
		c.RequestHeaderClientCAFile = file
		c.RequestHeaderUsernameHeaders = []string{"X-Remote-User", "X-User"}
	})
	told := func() {
		t.Helper()
		r := h.get(path)
		for key, want := range map[string]string{"requestheader-username-headers": `["X-Remote-User","X-User"]`, "requestheader-allowed-names": "[]", "mine": "1"} {
			if got := r.field(t, "data."+key); got != want {
				t.Errorf("%s: %v, expected %s", key, got, want)
			}
		}
	}
	h.mergePatch(path, `{"data":{"mine":"1","requestheader-username-headers":"x","requestheader-allowed-names":null}}`)
	if err := h.server.LookAfter(context.Background()); err != nil {
		t.Fatal(err)
	}
	told()
}
