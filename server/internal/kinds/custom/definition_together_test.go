package custom_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// atOnce calls do for the numbers below n, with some clients.
func atOnce(clients, n int, do func(i int)) {
	var running sync.WaitGroup
	next := make(chan int)
	for range clients {
		running.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	running.Wait()
}

func stormKind(i int) string {
	return "/apis/storm.example.com/v1/namespaces/default/k" + strconv.Itoa(i)
}

func stormDefinition(i int) string {
	return harness.DefinitionsPath + "/k" + strconv.Itoa(i) + ".storm.example.com"
}

// Definitions that change together, as those of an operator that is upgraded, are all
// served by their new schema: no kind refuses writes afterwards, and the server ends.
func TestDefinitionsChangeTogether(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Seams.WrapStore = nil })
	const kinds, clients, rounds = 100, 16, 3
	atOnce(clients, kinds, func(i int) {
		h.Post(harness.DefinitionsPath, harness.Custom("storm.example.com", "k"+strconv.Itoa(i), `"kind":"K`+strconv.Itoa(i)+`"`)).Expect(t, http.StatusCreated, "")
	})
	for round := range rounds {
		atOnce(clients, kinds, func(i int) {
			h.Send(http.MethodPatch, stormDefinition(i), "application/json-patch+json", fmt.Appendf(nil,
				`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema","value":{"type":"object","properties":{"n":{"type":"integer","default":%d}}}}]`, round)).Expect(t, http.StatusOK, "")
		})
		until := time.Now().Add(5 * time.Second) // a busy machine; nothing hangs for ever
		atOnce(clients, kinds, func(i int) {
			want := fmt.Sprintf(`"n":%d`, round)
			for n := 0; ; n++ {
				made := h.Post(stormKind(i), fmt.Sprintf(`{"apiVersion":"storm.example.com/v1","kind":"K%d","metadata":{"name":"o%d-%d"}}`, i, round, n))
				if made.Code == http.StatusCreated && strings.Contains(string(made.Body), want) {
					return
				}
				if time.Now().After(until) {
					t.Errorf("round %d, kind %d: %d %s", round, i, made.Code, made.Body)
					return
				}
			}
		})
	}
}

// A definition that is created, changed, used and deleted in quick succession takes its
// objects along, whatever was decided about it when: none is in the next one of its name.
func TestObjectsEndWithTheirDefinition(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Seams.WrapStore = nil })
	for round := range 40 {
		h.Create(harness.DefinitionsPath, harness.Custom("storm.example.com", "k0", `"kind":"K0"`))
		if list := h.Get(stormKind(0)); list.Code == http.StatusOK && len(list.Field(t, "items").([]any)) > 0 {
			t.Fatalf("round %d: objects of the definition before: %s", round, list.Body)
		}
		var running sync.WaitGroup
		var stop atomic.Bool
		running.Go(func() { // patches of which some come while names are decided about
			for i := 0; !stop.Load(); i++ {
				h.Send(http.MethodPatch, stormDefinition(0), "application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"a":"%d"}}}`, i))
			}
		})
		used := make(chan struct{}, 4)
		for n := range 4 {
			running.Go(func() {
				for i := 0; !stop.Load(); i++ {
					made := h.Post(stormKind(0), fmt.Sprintf(`{"apiVersion":"storm.example.com/v1","kind":"K0","metadata":{"name":"o%d-%d"}}`, n, i))
					if made.Code == http.StatusCreated {
						select {
						case used <- struct{}{}:
						default:
						}
					}
				}
			})
		}
		select {
		case <-used:
		case <-time.After(15 * time.Second):
			t.Error("no object was created")
		}
		h.Remove(stormDefinition(0), "").Expect(t, http.StatusOK, "")
		stop.Store(true)
		running.Wait()
		h.AwaitGone(harness.DefinitionsPath, "k0.storm.example.com")
	}
}

// Many definitions that are deleted at once are gone within a bound, with their objects: a
// thousand of them with CAPSTAN_STRESS=1.
func TestManyDefinitionsEndTogether(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Seams.WrapStore = nil })
	kinds := 200
	if os.Getenv("CAPSTAN_STRESS") != "" {
		kinds = 1000
	}
	atOnce(16, kinds, func(i int) {
		h.Post(harness.DefinitionsPath, harness.Custom("storm.example.com", "k"+strconv.Itoa(i), `"kind":"K`+strconv.Itoa(i)+`"`)).Expect(t, http.StatusCreated, "")
	})
	h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { return strings.Count(fmt.Sprint(o), "InitialNamesAccepted") >= kinds })
	h.Post(stormKind(7), `{"apiVersion":"storm.example.com/v1","kind":"K7","metadata":{"name":"o"}}`).Expect(t, http.StatusCreated, "")
	h.Send(http.MethodDelete, harness.DefinitionsPath, "", nil).Expect(t, http.StatusOK, "")
	h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { return len(o) == 0 })
	h.Get(stormKind(7)).Expect(t, http.StatusNotFound, "")
}

// The end of a definition whose names were never accepted takes along the objects that an
// earlier release has left under its name.
func TestRefusedDefinitionTakesObjectsAlong(t *testing.T) {
	var kept store.Store
	h := harness.Start(t, func(c *server.Config) { c.Seams.WrapStore = func(s store.Store) store.Store { kept = s; return s } })
	h.Create(harness.DefinitionsPath, harness.Custom("storm.example.com", "k0", `"kind":"Same"`))
	h.AwaitCode(stormKind(0), http.StatusOK)
	h.Create(harness.DefinitionsPath, harness.Custom("storm.example.com", "k1", `"kind":"Same"`))
	h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { return strings.Contains(fmt.Sprint(o), "KindConflict") })
	const key = "storm.example.com/k1/default/left"
	left := `{"apiVersion":"storm.example.com/v1","kind":"Same","metadata":{"name":"left","namespace":"default","uid":"u","resourceVersion":""}}`
	at := strings.Index(left, `""`) + 1
	_, err := kept.Update(t.Context(), key, func(*store.Entry) (store.Write, error) {
		return store.Write{Op: store.OpCreate, Value: store.Value{Body: []byte(left), RevisionAt: at}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.Remove(stormDefinition(1), "").Expect(t, http.StatusOK, "")
	h.AwaitGone(harness.DefinitionsPath, "k1.storm.example.com")
	if e, err := kept.Get(t.Context(), key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%s is left: %s %v", key, e.Body, err)
	}
}
