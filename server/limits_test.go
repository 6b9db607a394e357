package server_test

import (
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// TestRequestsInFlight: above the bound reads are refused; writes and watches
// have nothing to do with it.
func TestRequestsInFlight(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.MaxRequestsInflight, c.MaxMutatingRequestsInflight = 1, 1 })
	for range 3 { // not counted, or the second would be refused, and all that follows
		h.watch(configMaps + "?watch=true&resourceVersion=0")
	}
	now, err := strconv.Atoi(h.get(configMaps).field(t, "metadata.resourceVersion").(string))
	if err != nil {
		t.Fatal(err)
	}
	// A read of the next revision stays until somebody writes.
	held := make(chan reply, 1)
	go func() {
		h := &harness{t: t, server: h.server, client: h.client}
		for {
			r := h.get(fmt.Sprintf("%s?resourceVersion=%d", configMaps, now+1))
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
			refused = h.get(configMaps + "/none")
		}
	}
	refused.expect(t, http.StatusTooManyRequests, "TooManyRequests")
	if refused.header.Get("Retry-After") != "1" {
		t.Errorf("Retry-After is %q", refused.header.Get("Retry-After"))
	}
	h.get("/readyz").expect(t, http.StatusOK, "")
	h.watch(configMaps + "?watch=true&resourceVersion=0")
	h.create(configMaps, configMap("a", "{}"))
	if r := <-held; r.code != http.StatusOK {
		t.Errorf("the read that was held: %d %s", r.code, r.body)
	}
	after := h.get(configMaps + "/a")
	for after.code == http.StatusTooManyRequests { // an answer may be read before its place is given back
		after = h.get(configMaps + "/a")
	}
	after.expect(t, http.StatusOK, "")
}
