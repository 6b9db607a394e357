package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/capstan-dev/capstan/internal/audit"
)

// BenchmarkAudit measures a read without a network, and the same with an event at level
// Metadata in a file: one, and two with the begin of the request.
func BenchmarkAudit(b *testing.B) {
	for name, policy := range map[string]string{"off": "", "one event": "omitStages: [RequestReceived]\n", "two events": "omitStages: []\n"} {
		b.Run(name, func(b *testing.B) {
			dir := b.TempDir()
			write := func(name, text string) string {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
				return filepath.Join(dir, name)
			}
			cfg := Config{InMemory: true, Background: Background{Controllers: []string{"-*"}}, PKI: PKI{TokenAuthFile: write("tokens.csv", "token,admin,1,system:masters\n")}}
			if policy != "" {
				cfg.Audit = audit.Config{PolicyFile: write("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\n"+policy+"rules: [{level: Metadata}]\n"), Log: audit.LogConfig{Path: filepath.Join(dir, "log")}}
			}
			s, err := Start(context.Background(), cfg)
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = s.Shutdown(context.Background()) }()
			<-s.Bootstrapped()
			b.ReportAllocs()
			for b.Loop() {
				q := httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/default", nil)
				q.Header.Set("Authorization", "Bearer token")
				w := httptest.NewRecorder()
				if s.http.Handler.ServeHTTP(w, q); w.Code != http.StatusOK {
					b.Fatal(w.Code, w.Body)
				}
			}
		})
	}
}
