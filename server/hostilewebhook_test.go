package server_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// awaitQuiet waits until no goroutine runs in a package.
func awaitQuiet(t *testing.T, in string) {
	t.Helper()
	stacks := make([]byte, 4<<20)
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		all := string(stacks[:runtime.Stack(stacks, true)])
		if !strings.Contains(all, in) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("goroutines are left: %s", all)
		}
	}
}

// A webhook that writes what it reviews itself ends with its time-out, whatever the depth;
// nothing is left of the calls, and the server goes on.
func TestWebhookThatCallsItself(t *testing.T) {
	h := startServer(t, nil)
	v := newReviewer(t, nil)
	depth := make(chan struct{}, 10_000)
	v.do(func(w http.ResponseWriter, r *http.Request) bool {
		depth <- struct{}{}
		again, err := http.NewRequestWithContext(r.Context(), http.MethodPost, h.server.URL()+configMaps, strings.NewReader(configMap("again", `{}`)))
		if err != nil {
			t.Error(err)
			return true
		}
		again.Header.Set("Authorization", "Bearer "+adminToken)
		again.Header.Set("Content-Type", "application/json")
		if resp, err := h.client.Do(again); err == nil {
			_ = resp.Body.Close()
		}
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	h.validateBy(v, "self", reviewRule(`"CREATE"`, "", "v1", "configmaps"), `,"timeoutSeconds":1`)
	h.run(t, []step{{"create", "POST", configMaps, "", configMap("first", `{}`), 500, `failed calling webhook \"self.example.com\"`}})
	if n := len(depth); n < 2 {
		t.Errorf("the webhook was called %d times", n)
	}
	awaitQuiet(t, "internal/admission/webhooks.")
	h.remove(validatingPath+"/self", "").expect(t, 200, "")
	h.create(configMaps, configMap("after", `{}`))
	h.run(t, []step{{"nothing is stored", "GET", configMaps + "/again", "", "", 404, ""}})
}

// While 16 writers of one key wait for a webhook, writes of its neighbours go on, and so
// does the end of their namespace.
func TestNeighboursOfSlowWebhooks(t *testing.T) {
	const writers = 16
	h := withControllers(t, "*")
	h.create("/api/v1/namespaces", `{"metadata":{"name":"busy"}}`)
	busy := "/api/v1/namespaces/busy/configmaps"
	h.create(busy, configMap("slow", `{}`))
	asked, answer := make(chan struct{}, 10*writers), make(chan struct{})
	v := newReviewer(t, func(_ string, request, _ map[string]any) {
		if request["name"] == "slow" && request["operation"] == "UPDATE" {
			asked <- struct{}{}
			<-answer
		}
	})
	h.mutateBy(v, "all", reviewRule(`"*"`, "", "v1", "configmaps"), "")
	var writing sync.WaitGroup
	codes := make(chan int, writers)
	for i := range writers {
		writing.Go(func() { codes <- h.merge(busy+"/slow", fmt.Sprintf(`{"data":{"k%d":"v"}}`, i)).code })
	}
	for range writers {
		<-asked
	}
	for i := range 50 {
		h.create(busy, configMap(fmt.Sprintf("n%d", i), `{}`))
		h.merge(busy+"/n0", fmt.Sprintf(`{"data":{"n":"%d"}}`, i)).expect(t, 200, "")
	}
	h.remove("/api/v1/namespaces/busy", "").expect(t, 200, "")
	h.awaitGone("/api/v1/namespaces", "busy")
	close(answer)
	writing.Wait()
	for range writers {
		if code := <-codes; code != http.StatusNotFound && code != http.StatusConflict && code != http.StatusForbidden {
			t.Errorf("a write of an object that is gone: %d", code)
		}
	}
	awaitQuiet(t, "internal/admission/webhooks.")
	h.run(t, []step{{"it stays gone", "GET", busy + "/slow", "", "", 404, ""}})
}
