package server_test

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
)

// asBob and asCarol are headers of users who may do everything in the servers of the
// tests below, but are not administrators.
var asBob, asCarol = []string{"Authorization", "Bearer bob-token"}, []string{"Authorization", "Bearer carol-token"}

func everybodyMay(c *server.Config) { c.AuthorizationModes = []string{"AlwaysAllow"} }

// TestRequestsInFlight: above the bound reads are refused; it does not concern writes,
// watches and administrators.
func TestRequestsInFlight(t *testing.T) {
	h := startServer(t, func(c *server.Config) {
		everybodyMay(c)
		c.DisablePriorityAndFairness = true
		c.MaxRequestsInflight, c.MaxMutatingRequestsInflight = 1, 1
	})
	for range 3 { // not counted, else the second would be refused, and all later ones
		h.watch(configMaps + "?watch=true&resourceVersion=0")
	}
	now, err := strconv.Atoi(h.get(configMaps).field(t, "metadata.resourceVersion").(string))
	if err != nil {
		t.Fatal(err)
	}
	// A read of the next revision waits for the next write.
	held := make(chan reply, 1)
	go func() {
		h := &harness{t: t, server: h.server, client: h.client}
		for {
			r := h.send("GET", fmt.Sprintf("%s?resourceVersion=%d", configMaps, now+1), "", nil, asBob...)
			if r.code != http.StatusTooManyRequests {
				held <- r
				return
			}
		}
	}()
	var refused reply
	for refused.code != http.StatusTooManyRequests {
		select {
		case r := <-held:
			t.Fatalf("the read of a later revision did not wait: %d %s", r.code, r.body)
		default:
			refused = h.send("GET", configMaps+"/none", "", nil, asCarol...)
		}
	}
	refused.expect(t, http.StatusTooManyRequests, "")
	if refused.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", refused.header.Get("Retry-After"))
	}
	h.get("/readyz").expect(t, http.StatusOK, "")
	h.get(configMaps).expect(t, http.StatusOK, "") // an administrator
	h.watch(configMaps + "?watch=true&resourceVersion=0")
	h.create(configMaps, configMap("a", "{}"))
	if r := <-held; r.code != http.StatusOK {
		t.Errorf("the read that was held: %d %s", r.code, r.body)
	}
	after := h.send("GET", configMaps+"/a", "", nil, asBob...)
	for after.code == http.StatusTooManyRequests { // an answer may be read before its slot is free
		after = h.send("GET", configMaps+"/a", "", nil, asBob...)
	}
	after.expect(t, http.StatusOK, "")
}

// TestShareOfRequests: no user takes all slots.
func TestShareOfRequests(t *testing.T) {
	h := startServer(t, func(c *server.Config) {
		everybodyMay(c)
		c.DisablePriorityAndFairness = true
		c.MaxRequestsInflight = 8
		c.Shorten(func(d *server.Durations) { d.Future = 20 * time.Second })
	})
	future := configMaps + "?resourceVersion=1000000"
	ctx, cancel := context.WithCancel(context.Background())
	var held sync.WaitGroup
	t.Cleanup(held.Wait)
	t.Cleanup(cancel)
	const reading = `apiserver_current_inflight_requests{request_kind="readOnly"`
	for n, user := range []string{"bob", "bob", "carol", "carol"} {
		held.Go(func() {
			req, _ := http.NewRequestWithContext(ctx, "GET", h.server.URL()+future, nil)
			req.Header.Set("Authorization", "Bearer "+user+"-token")
			if resp, err := h.client.Transport.RoundTrip(req); err == nil {
				t.Errorf("%s: %s", user, resp.Status)
				_ = resp.Body.Close()
			}
		})
		for h.figures()[reading] != strconv.Itoa(n+2) { // including this request
		}
	}
	h.send("GET", configMaps, "", nil, asBob...).expect(t, http.StatusTooManyRequests, "")
	h.send("GET", configMaps, "", nil, asCarol...).expect(t, http.StatusTooManyRequests, "")
	h.send("POST", configMaps, "application/json", []byte(configMap("a", "{}")), asBob...).expect(t, http.StatusCreated, "")
	h.get(configMaps).expect(t, http.StatusOK, "")
}

// TestPool: every user has a share, all together have the whole, and returned amounts can
// be taken again.
func TestPool(t *testing.T) {
	var taken []func()
	take := server.NewPool(8)
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
	h := startServer(t, everybodyMay)
	text := strings.Repeat("x", 1<<20)
	for i := range 9 { // eight times as much is held while they are indented
		h.create(configMaps, configMap(fmt.Sprintf("large-%d", i), `{"k":"`+text+`"}`))
	}
	got := h.send("GET", configMaps, "", nil, append(asBob, "Accept", "application/yaml")...)
	got.expect(t, http.StatusOK, "")
	if !strings.HasPrefix(string(got.body), "apiVersion: v1\n") {
		t.Errorf("not laid out: %.100s", got.body)
	}
}
