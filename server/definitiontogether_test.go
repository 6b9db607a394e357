package server_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
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
	return definitionsPath + "/k" + strconv.Itoa(i) + ".storm.example.com"
}

// Definitions that change together, as those of an operator that is upgraded, are all
// served by their new schema: no kind refuses writes afterwards, and the server ends.
func TestDefinitionsChangeTogether(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.WrapStore(nil) })
	const kinds, clients, rounds = 100, 16, 3
	atOnce(clients, kinds, func(i int) {
		h.post(definitionsPath, custom("storm.example.com", "k"+strconv.Itoa(i), `"kind":"K`+strconv.Itoa(i)+`"`)).expect(t, http.StatusCreated, "")
	})
	for round := range rounds {
		atOnce(clients, kinds, func(i int) {
			h.send(http.MethodPatch, stormDefinition(i), "application/json-patch+json", fmt.Appendf(nil,
				`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema","value":{"type":"object","properties":{"n":{"type":"integer","default":%d}}}}]`, round)).expect(t, http.StatusOK, "")
		})
		until := time.Now().Add(5 * time.Second) // a busy machine; nothing hangs for ever
		atOnce(clients, kinds, func(i int) {
			want := fmt.Sprintf(`"n":%d`, round)
			for n := 0; ; n++ {
				made := h.post(stormKind(i), fmt.Sprintf(`{"apiVersion":"storm.example.com/v1","kind":"K%d","metadata":{"name":"o%d-%d"}}`, i, round, n))
				if made.code == http.StatusCreated && strings.Contains(string(made.body), want) {
					return
				}
				if time.Now().After(until) {
					t.Errorf("round %d, kind %d: %d %s", round, i, made.code, made.body)
					return
				}
			}
		})
	}
}

// A definition that is created, changed, used and deleted in quick succession takes its
// objects along, whatever was decided about it when: none is in the next one of its name.
func TestObjectsEndWithTheirDefinition(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.WrapStore(nil) })
	for round := range 40 {
		h.create(definitionsPath, custom("storm.example.com", "k0", `"kind":"K0"`))
		if list := h.get(stormKind(0)); list.code == http.StatusOK && len(list.field(t, "items").([]any)) > 0 {
			t.Fatalf("round %d: objects of the definition before: %s", round, list.body)
		}
		var running sync.WaitGroup
		running.Go(func() { // which may come too late
			h.send(http.MethodPatch, stormDefinition(0), "application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		})
		for n := range 4 {
			running.Go(func() {
				for i := range 5 {
					h.post(stormKind(0), fmt.Sprintf(`{"apiVersion":"storm.example.com/v1","kind":"K0","metadata":{"name":"o%d-%d"}}`, n, i))
				}
			})
		}
		running.Go(func() { h.remove(stormDefinition(0), "").expect(t, http.StatusOK, "") })
		running.Wait()
		h.awaitGone(definitionsPath, "k0.storm.example.com")
	}
}

// Many definitions that are deleted at once are gone within a bound, with their objects.
func TestManyDefinitionsEndTogether(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.WrapStore(nil) })
	const kinds = 200
	atOnce(16, kinds, func(i int) {
		h.post(definitionsPath, custom("storm.example.com", "k"+strconv.Itoa(i), `"kind":"K`+strconv.Itoa(i)+`"`)).expect(t, http.StatusCreated, "")
	})
	h.await(definitionsPath, func(o contents) bool { return strings.Count(fmt.Sprint(o), "InitialNamesAccepted") >= kinds })
	h.post(stormKind(7), `{"apiVersion":"storm.example.com/v1","kind":"K7","metadata":{"name":"o"}}`).expect(t, http.StatusCreated, "")
	h.send(http.MethodDelete, definitionsPath, "", nil).expect(t, http.StatusOK, "")
	h.await(definitionsPath, func(o contents) bool { return len(o) == 0 })
	h.get(stormKind(7)).expect(t, http.StatusNotFound, "")
}
