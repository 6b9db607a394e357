package admission_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A webhook that writes what it reviews itself ends with its time-out, whatever the depth;
// nothing is left of the calls, and the server goes on.
func TestWebhookThatCallsItself(t *testing.T) {
	h := harness.Start(t, nil)
	v := harness.NewReviewer(t, nil)
	depth := make(chan struct{}, 10_000)
	v.Do(func(w http.ResponseWriter, r *http.Request) bool {
		depth <- struct{}{}
		again, err := http.NewRequestWithContext(r.Context(), http.MethodPost, h.Running.URL()+harness.ConfigMaps, strings.NewReader(harness.ConfigMap("again", `{}`)))
		if err != nil {
			t.Error(err)
			return true
		}
		again.Header.Set("Authorization", "Bearer "+harness.AdminToken)
		again.Header.Set("Content-Type", "application/json")
		if resp, err := h.HTTP.Do(again); err == nil {
			_ = resp.Body.Close()
		}
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	h.ValidateBy(v, "self", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), `,"timeoutSeconds":1`)
	h.Run(t, []harness.Step{{"create", "POST", harness.ConfigMaps, "", harness.ConfigMap("first", `{}`), 500, `failed calling webhook \"self.example.com\"`}})
	if n := len(depth); n < 2 {
		t.Errorf("the webhook was called %d times", n)
	}
	harness.AwaitQuiet(t, "internal/admission/webhooks.")
	h.Remove(harness.ValidatingPath+"/self", "").Expect(t, 200, "")
	h.Create(harness.ConfigMaps, harness.ConfigMap("after", `{}`))
	h.Run(t, []harness.Step{{"nothing is stored", "GET", harness.ConfigMaps + "/again", "", "", 404, ""}})
}

// While 16 writers of one key wait for a webhook, writes of its neighbours go on, and so
// does the end of their namespace.
func TestNeighboursOfSlowWebhooks(t *testing.T) {
	const writers = 16
	h := harness.WithControllers(t, "*")
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"busy"}}`)
	busy := "/api/v1/namespaces/busy/configmaps"
	h.Create(busy, harness.ConfigMap("slow", `{}`))
	asked, answer := make(chan struct{}, 10*writers), make(chan struct{})
	v := harness.NewReviewer(t, func(_ string, request, _ map[string]any) {
		if request["name"] == "slow" && request["operation"] == "UPDATE" {
			asked <- struct{}{}
			<-answer
		}
	})
	h.MutateBy(v, "all", harness.ReviewRule(`"*"`, "", "v1", "configmaps"), "")
	var writing sync.WaitGroup
	codes := make(chan int, writers)
	for i := range writers {
		writing.Go(func() { codes <- h.Merge(busy+"/slow", fmt.Sprintf(`{"data":{"k%d":"v"}}`, i)).Code })
	}
	for range writers {
		<-asked
	}
	for i := range 50 {
		h.Create(busy, harness.ConfigMap(fmt.Sprintf("n%d", i), `{}`))
		h.Merge(busy+"/n0", fmt.Sprintf(`{"data":{"n":"%d"}}`, i)).Expect(t, 200, "")
	}
	h.Remove("/api/v1/namespaces/busy", "").Expect(t, 200, "")
	h.AwaitGone("/api/v1/namespaces", "busy")
	close(answer)
	writing.Wait()
	for range writers {
		if code := <-codes; code != http.StatusNotFound && code != http.StatusConflict && code != http.StatusForbidden {
			t.Errorf("a write of an object that is gone: %d", code)
		}
	}
	harness.AwaitQuiet(t, "internal/admission/webhooks.")
	h.Run(t, []harness.Step{{"it stays gone", "GET", busy + "/slow", "", "", 404, ""}})
}
