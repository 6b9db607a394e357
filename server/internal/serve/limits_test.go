package serve_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// TestRequestsInFlight: above the bound reads are refused; it does not concern writes,
// watches and administrators.
func TestRequestsInFlight(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		harness.EverybodyMay(c)
		c.DisablePriorityAndFairness = true
		c.MaxRequestsInflight, c.MaxMutatingRequestsInflight = 1, 1
	})
	for range 3 { // not counted, else the second would be refused, and all later ones
		h.Watch(harness.ConfigMaps + "?watch=true&resourceVersion=0")
	}
	now, err := strconv.Atoi(h.Get(harness.ConfigMaps).Field(t, "metadata.resourceVersion").(string))
	if err != nil {
		t.Fatal(err)
	}
	// A read of the next revision waits for the next write.
	held := make(chan harness.Reply, 1)
	go func() {
		h := &harness.Server{T: t, Running: h.Running, HTTP: h.HTTP}
		for {
			r := h.Send("GET", fmt.Sprintf("%s?resourceVersion=%d", harness.ConfigMaps, now+1), "", nil, harness.AsBob...)
			if r.Code != http.StatusTooManyRequests {
				held <- r
				return
			}
		}
	}()
	var refused harness.Reply
	for refused.Code != http.StatusTooManyRequests {
		select {
		case r := <-held:
			t.Fatalf("the read of a later revision did not wait: %d %s", r.Code, r.Body)
		default:
			refused = h.Send("GET", harness.ConfigMaps+"/none", "", nil, harness.AsCarol...)
		}
	}
	refused.Expect(t, http.StatusTooManyRequests, "")
	if refused.Header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", refused.Header.Get("Retry-After"))
	}
	h.Get("/readyz").Expect(t, http.StatusOK, "")
	h.Get(harness.ConfigMaps).Expect(t, http.StatusOK, "") // an administrator
	h.Watch(harness.ConfigMaps + "?watch=true&resourceVersion=0")
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	if r := <-held; r.Code != http.StatusOK {
		t.Errorf("the read that was held: %d %s", r.Code, r.Body)
	}
	after := h.Send("GET", harness.ConfigMaps+"/a", "", nil, harness.AsBob...)
	for after.Code == http.StatusTooManyRequests { // an answer may be read before its slot is free
		after = h.Send("GET", harness.ConfigMaps+"/a", "", nil, harness.AsBob...)
	}
	after.Expect(t, http.StatusOK, "")
}

// TestShareOfRequests: no user takes all slots.
func TestShareOfRequests(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		harness.EverybodyMay(c)
		c.DisablePriorityAndFairness = true
		c.MaxRequestsInflight = 8
		harness.Shorten(c, func(d *seams.Durations) { d.Future = 20 * time.Second })
	})
	future := harness.ConfigMaps + "?resourceVersion=1000000"
	ctx, cancel := context.WithCancel(context.Background())
	var held sync.WaitGroup
	t.Cleanup(held.Wait)
	t.Cleanup(cancel)
	const reading = `apiserver_current_inflight_requests{request_kind="readOnly"`
	for n, user := range []string{"bob", "bob", "carol", "carol"} {
		held.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, "GET", h.Running.URL()+future, nil)
			req.Header.Set("Authorization", "Bearer "+user+"-token")
			if resp, err := h.HTTP.Transport.RoundTrip(req); err == nil {
				t.Errorf("%s: %s", user, resp.Status)
				_ = resp.Body.Close()
			}
		})
		for h.Figures()[reading] != strconv.Itoa(n+2) { // including this request
		}
	}
	h.Send("GET", harness.ConfigMaps, "", nil, harness.AsBob...).Expect(t, http.StatusTooManyRequests, "")
	h.Send("GET", harness.ConfigMaps, "", nil, harness.AsCarol...).Expect(t, http.StatusTooManyRequests, "")
	h.Send("POST", harness.ConfigMaps, "application/json", []byte(harness.ConfigMap("a", "{}")), harness.AsBob...).Expect(t, http.StatusCreated, "")
	h.Get(harness.ConfigMaps).Expect(t, http.StatusOK, "")
}

// TestPool: every user has a share, all together have the whole, and returned amounts can
// be taken again.
func TestPool(t *testing.T) {
	var taken []func()
	take := harness.NewPool(8)
	for _, step := range []struct {
		user string
		size int64
		ok   bool
	}{{"a", 1, true}, {"a", 1, true}, {"a", 1, false}, {"b", 2, true}, {"c", 3, false}, {"c", 2, true}, {"d", 1, true}, {"e", 1, true}, {"f", 1, false}, {"admin", 100, true}} {
		leave, ok := take(step.user, step.size)
		if ok != step.ok {
			t.Errorf("%s takes %d: %t", step.user, step.size, ok)
		}
		taken = append(taken, leave)
	}
	for _, leave := range taken {
		leave()
	}
	for _, user := range []string{"f", "g", "h", "i"} {
		if _, ok := take(user, 2); !ok {
			t.Errorf("%s finds no room, though all was given back", user)
		}
	}
}

// TestLargestAnswer: answers larger than a share are sent, one at a time.
func TestLargestAnswer(t *testing.T) {
	h := harness.Start(t, harness.EverybodyMay)
	text := strings.Repeat("x", 1<<20)
	for i := range 9 { // eight times as much is held while they are indented
		h.Create(harness.ConfigMaps, harness.ConfigMap(fmt.Sprintf("large-%d", i), `{"k":"`+text+`"}`))
	}
	got := h.Send("GET", harness.ConfigMaps, "", nil, append(harness.AsBob, "Accept", "application/yaml")...)
	got.Expect(t, http.StatusOK, "")
	if !strings.HasPrefix(string(got.Body), "apiVersion: v1\n") {
		t.Errorf("not laid out: %.100s", got.Body)
	}
}
