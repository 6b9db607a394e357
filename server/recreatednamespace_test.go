package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
)

// A namespace that is created again in the instant in which it ends has none of the objects
// of the one before, and keeps all of its own.
func TestNamespaceIsRecreatedAsItEnds(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	const (
		again  = "/api/v1/namespaces/again"
		maps   = again + "/configmaps"
		rounds = 8
		actors = 4
	)
	h.create("/api/v1/namespaces", `{"metadata":{"name":"again"}}`)
	for round := range rounds {
		for i := range 10 {
			h.create(maps, configMap(fmt.Sprintf("old%d-%d", round, i), "{}"))
		}
		old := h.get(again).field(t, "metadata.uid")
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
						h.post(maps, configMap(fmt.Sprintf("any%d-%d-%d", round, w, n), "{}"))
					}
				}
			})
		}
		h.remove(again, "").expect(t, http.StatusOK, "")
		var creators sync.WaitGroup
		for range actors {
			creators.Go(func() {
				for end := time.Now().Add(15 * time.Second); made.Load() == 0; {
					switch got := h.post("/api/v1/namespaces", `{"metadata":{"name":"again"}}`); {
					case got.code == http.StatusCreated:
						made.Add(1)
					case got.code != http.StatusConflict || time.Now().After(end):
						t.Errorf("the namespace is created again with %d %s", got.code, got.body)
						return
					}
				}
			})
		}
		creators.Wait()
		var kept []string
		for i := range 10 {
			name := fmt.Sprintf("new%d-%d", round, i)
			h.create(maps, configMap(name, "{}"))
			kept = append(kept, name)
		}
		close(stop)
		all.Wait()
		h.await(maps, func(o contents) bool { return o["kube-root-ca.crt"] != nil }) // the controllers know it
		list := h.get(maps)
		if made.Load() != 1 || h.get(again).field(t, "metadata.uid") == old {
			t.Errorf("round %d: it was created %d times", round, made.Load())
		}
		if strings.Contains(string(list.body), fmt.Sprintf(`"old%d-`, round)) {
			t.Errorf("round %d: objects of the namespace before: %s", round, list.names(t))
		}
		for _, name := range kept {
			if !strings.Contains(string(list.body), `"`+name+`"`) {
				t.Errorf("round %d: %s is lost", round, name)
			}
		}
	}
}
