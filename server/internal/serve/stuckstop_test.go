package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestStopWithStuckRequest: a request that does not end by itself, not even with its
// connection, does not keep the server from stopping in time, and the store has all that was
// written before. One is stuck under the lock of its key, the other is not.
func TestStopWithStuckRequest(t *testing.T) {
	for _, locked := range []bool{false, true} {
		t.Run(fmt.Sprintf("locked %v", locked), func(t *testing.T) {
			dir := t.TempDir()
			reached, released := make(chan struct{}), make(chan struct{})
			h := harness.Start(t, func(c *server.Config) {
				c.InMemory, c.DataDir = false, dir
				harness.EvaluatedOnce(c)
				harness.LookOn(c, harness.Onlooker{
					Waiting: func(admission.Operation, *api.Resource, string) bool { return !locked },
					Checking: func(r *admission.Request) error {
						if r.Object.At("data", "stuck").Exists() {
							close(reached)
							<-released
						}
						return nil
					}})
			})
			h.Create(harness.ConfigMaps, harness.ConfigMap("a", `{"k":"v"}`))
			asked, leave := context.WithCancel(context.Background())
			defer leave()
			req, err := http.NewRequestWithContext(asked, "PATCH", h.Running.URL()+harness.ConfigMaps+"/a", strings.NewReader(`{"data":{"stuck":"yes"}}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/merge-patch+json")
			req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
			go func() {
				if resp, err := h.HTTP.Do(req); err == nil { // the connection breaks
					_ = resp.Body.Close()
				}
			}()
			<-reached
			defer close(released)
			const most = time.Second
			ctx, cancel := context.WithTimeout(context.Background(), most)
			defer cancel()
			begun := time.Now()
			if err := h.Running.Shutdown(ctx); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > most+10*time.Second {
				t.Errorf("the server stopped after %s", took)
			}
			again := harness.Start(t, func(c *server.Config) { c.InMemory, c.DataDir = false, dir })
			again.Get(harness.ConfigMaps+"/a").Has(t, `"data":{"k":"v"}`)
		})
	}
}
