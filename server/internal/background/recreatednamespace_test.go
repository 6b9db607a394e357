package background_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A namespace that is created again in the instant in which it ends has none of the objects
// of the one before, and keeps all of its own.
func TestNamespaceIsRecreatedAsItEnds(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	const (
		again  = "/api/v1/namespaces/again"
		maps   = again + "/configmaps"
		rounds = 8
		actors = 4
	)
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"again"}}`)
	for round := range rounds {
		for i := range 10 {
			h.Create(maps, harness.ConfigMap(fmt.Sprintf("old%d-%d", round, i), "{}"))
		}
		old := h.Get(again).Field(t, "metadata.uid")
		var made atomic.Int64
		var all sync.WaitGroup
		stop := make(chan struct{})
		for w := range actors { // content for whichever namespace there is
			all.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-stop:
						return
					default:
						h.Post(maps, harness.ConfigMap(fmt.Sprintf("any%d-%d-%d", round, w, n), "{}"))
					}
				}
			})
		}
		h.Remove(again, "").Expect(t, http.StatusOK, "")
		var creators sync.WaitGroup
		for range actors {
			creators.Go(func() {
				for end := time.Now().Add(15 * time.Second); made.Load() == 0; {
					switch got := h.Post("/api/v1/namespaces", `{"metadata":{"name":"again"}}`); {
					case got.Code == http.StatusCreated:
						made.Add(1)
					case got.Code != http.StatusConflict || time.Now().After(end):
						t.Errorf("the namespace is created again with %d %s", got.Code, got.Body)
						return
					}
				}
			})
		}
		creators.Wait()
		var kept []string
		for i := range 10 {
			name := fmt.Sprintf("new%d-%d", round, i)
			h.Create(maps, harness.ConfigMap(name, "{}"))
			kept = append(kept, name)
		}
		close(stop)
		all.Wait()
		h.Await(maps, func(o harness.Contents) bool { return o["kube-root-ca.crt"] != nil }) // the controllers know it
		list := h.Get(maps)
		if made.Load() != 1 || h.Get(again).Field(t, "metadata.uid") == old {
			t.Errorf("round %d: it was created %d times", round, made.Load())
		}
		if strings.Contains(string(list.Body), fmt.Sprintf(`"old%d-`, round)) {
			t.Errorf("round %d: objects of the namespace before: %s", round, list.Names(t))
		}
		for _, name := range kept {
			if !strings.Contains(string(list.Body), `"`+name+`"`) {
				t.Errorf("round %d: %s is lost", round, name)
			}
		}
	}
}
