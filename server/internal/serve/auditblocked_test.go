package serve_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A webhook that receives events and does not answer delays the requests that wait for it
// no longer than their time, whatever the stage of the event.
func TestAuditWebhookHangs(t *testing.T) {
	for _, c := range []struct {
		mode, stage string
		code        int
		text        string
	}{
		{"blocking", "RequestReceived", 504, "did not finish in time"},
		{"blocking-strict", "RequestReceived", 500, "failed to store audit event"},
		{"blocking", "ResponseComplete", 200, "ConfigMapList"},
		{"blocking-strict", "ResponseComplete", 200, "ConfigMapList"},
	} {
		t.Run(c.mode+" "+c.stage, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			to := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); strings.Contains(string(body), c.stage) {
					select {
					case <-r.Context().Done():
					case <-ended:
					}
				}
			}))
			t.Cleanup(to.Close)
			t.Cleanup(func() { close(ended) })
			dir := t.TempDir()
			kubeconfig, policy := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "policy")
			for file, text := range map[string]string{
				kubeconfig: fmt.Sprintf("current-context: c\ncontexts: [{name: c, context: {cluster: s}}]\nclusters: [{name: s, cluster: {server: %s}}]\n", to.URL),
				policy:     "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, resources: [{resources: [configmaps]}]}]\n",
			} {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			h := harness.Start(t, func(cfg *server.Config) {
				cfg.RequestTimeout = time.Second
				cfg.Audit.PolicyFile, cfg.Audit.Webhook.ConfigFile, cfg.Audit.Webhook.Mode = policy, kubeconfig, c.mode
			})
			if r := h.Get(harness.ConfigMaps); r.Code != c.code || !bytes.Contains(r.Body, []byte(c.text)) {
				t.Errorf("%d %s", r.Code, r.Body)
			}
		})
	}
}
