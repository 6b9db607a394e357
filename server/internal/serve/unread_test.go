package serve_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// unreadServer has a list of 6 MB.
func unreadServer(t *testing.T, change func(*server.Config)) *harness.Server {
	h := harness.Start(t, func(c *server.Config) {
		harness.EverybodyMay(c)
		if change(c); c.RequestTimeout == 0 {
			c.RequestTimeout = 20 * time.Second // of which a quarter may pass in a queue
		}
	})
	text := strings.Repeat("x", 1<<20)
	for i := range 6 {
		h.Create(harness.ConfigMaps, harness.ConfigMap(fmt.Sprint("large-", i), `{"k":"`+text+`"}`))
	}
	h.Create("/api/v1/namespaces/kube-public/configmaps", harness.ConfigMap("small", "{}"))
	return h
}

// ignored sends a list as a user on a connection of its own, and returns the code of the
// answer, whose body nobody reads.
func ignored(h *harness.Server, path, user string) int {
	raw, err := net.Dial("tcp", strings.TrimPrefix(h.Running.URL(), "https://"))
	if err != nil {
		h.T.Error(err)
		return 0
	}
	_ = raw.(*net.TCPConn).SetReadBuffer(4 << 10)
	conn := tls.Client(raw, &tls.Config{InsecureSkipVerify: true})
	h.T.Cleanup(func() { _ = raw.Close() })
	_ = conn.SetDeadline(time.Now().Add(30 * time.Second))
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nImpersonate-User: %s\r\n\r\n", path, harness.AdminToken, user)
	resp, err := http.ReadResponse(bufio.NewReaderSize(conn, 1<<10), nil)
	if err != nil {
		h.T.Errorf("no answer to %s: %v", user, err)
		return 0
	}
	return resp.StatusCode
}

// ignoredStream is ignored for a stream of the harness's connections.
func ignoredStream(h *harness.Server, path, user string) int {
	ctx, cancel := context.WithCancel(context.Background())
	h.T.Cleanup(cancel)
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, h.Running.URL()+path, nil)
	req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	req.Header.Set("Impersonate-User", user)
	req.Header.Set("Accept-Encoding", "identity") // the lists compress well
	resp, err := h.HTTP.Transport.RoundTrip(req)
	if err != nil {
		h.T.Errorf("no answer to %s: %v", user, err)
		return 0
	}
	h.T.Cleanup(func() { _ = resp.Body.Close() })
	if resp.ProtoMajor != 2 {
		h.T.Errorf("%s got %s", user, resp.Proto)
	}
	return resp.StatusCode
}

// refused lets a user ask for further lists until the share is used up: the last ones may
// just have begun.
func refused(of *harness.Server, ask func(of *harness.Server, path, user string) int, user string) {
	of.T.Helper()
	for range 50 {
		if ask(of, harness.ConfigMaps, user) == http.StatusTooManyRequests {
			return
		}
	}
	of.T.Errorf("%s gets more lists all the time", user)
}

// TestUnreadAnswers: lists that nobody reads give their places back. Others of the level
// are served as quickly as without them, and their user gets no more of them than its
// share until they end.
func TestUnreadAnswers(t *testing.T) {
	const lists, share, seats = 150, 100, 40
	for _, test := range []struct {
		name  string
		major int
		plain bool
		users int
	}{
		{"HTTP 1", 1, false, 1}, {"HTTP 2", 2, false, 1},
		{"HTTP 1, counted", 1, true, 5}, {"HTTP 2, counted", 2, true, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := unreadServer(t, func(c *server.Config) {
				c.DisablePriorityAndFairness = test.plain
				c.MaxRequestsInflight, c.MaxMutatingRequestsInflight = seats, seats
			})
			// reads returns the time within which 99 of 100 reads of another user are
			// answered, and how many of them found no place.
			reads := func() (most time.Duration, refused int) {
				var took []time.Duration
				for range 200 {
					begun := time.Now()
					got := h.Send("GET", "/api/v1/namespaces/kube-public/configmaps/small", "", nil, harness.AsCarol...)
					took = append(took, time.Since(begun))
					if got.Code == http.StatusTooManyRequests {
						refused++
						continue
					}
					got.Expect(t, http.StatusOK, "")
				}
				slices.Sort(took)
				return took[len(took)*99/100], refused
			}
			alone, refusals := reads()
			if refusals > 0 {
				t.Errorf("%d reads are refused while nothing else is asked", refusals)
			}
			ask, of := ignored, h
			if test.major == 2 {
				ask, of = ignoredStream, h.Small()
			}
			var all sync.WaitGroup
			codes := make([]int, lists)
			for i := range lists {
				all.Go(func() { codes[i] = ask(of, harness.ConfigMaps, fmt.Sprint("user-", i%test.users)) })
			}
			during, refusals := reads()
			if refusals > 0 && !test.plain { // nothing waits for a place that is only counted
				t.Errorf("%d reads are refused while the lists begin", refusals)
			}
			all.Wait()
			// The last lists have their places until a write has taken too long.
			beside, refusals := reads()
			for end := time.Now().Add(30 * time.Second); refusals > 0; beside, refusals = reads() {
				if time.Now().After(end) {
					t.Fatalf("%d of 200 reads are still refused beside unread lists", refusals)
				}
			}
			t.Logf("99 of 100 reads of the other user take %v alone, %v while the lists begin, %v beside them", alone, during, beside)
			if most := max(2*alone, 50*time.Millisecond); beside > most {
				t.Errorf("beside unread lists 99 of 100 reads take %v, alone %v", beside, alone)
			}
			served := 0
			for _, code := range codes {
				switch code {
				case http.StatusOK:
					served++
				case http.StatusTooManyRequests:
				default:
					t.Errorf("a list was answered with %d", code)
				}
			}
			if most := min(lists, test.users*(share+seats)); served > most || test.users == 1 && served < share {
				t.Errorf("%d lists have begun, at most %d may", served, most)
			}
			if test.users == 1 && !test.plain {
				refused(of, ask, "user-0")
			}
		})
	}
}

// TestUnreadAnswersEnd: an unread answer ends with its time, so that its view of the store
// and the share of its user are free again.
func TestUnreadAnswersEnd(t *testing.T) {
	enough := harness.Slowed(2 * time.Second)
	for major := 1; major <= 2; major++ {
		t.Run(fmt.Sprint("HTTP ", major), func(t *testing.T) {
			h := unreadServer(t, func(c *server.Config) {
				c.DisablePriorityAndFairness = false
				c.RequestTimeout = enough // for 120 lists to begin
				harness.Shorten(c, func(d *seams.Durations) { d.Answer, d.Stall = 100*time.Millisecond, enough/2 })
			})
			ask, of := ignored, h
			if major == 2 {
				ask, of = ignoredStream, h.Small()
			}
			var all sync.WaitGroup
			for range 120 {
				all.Go(func() { ask(of, harness.ConfigMaps, "bob") })
			}
			all.Wait()
			small := func() harness.Reply {
				return h.Send("GET", "/api/v1/namespaces/kube-public/configmaps/small", "", nil, harness.AsBob...)
			}
			refused(of, ask, "bob")
			refused := small()
			refused.Expect(t, http.StatusTooManyRequests, "")
			if !strings.Contains(string(refused.Body), "not being read") {
				t.Errorf("the refusal does not help: %s", refused.Body)
			}
			for end := time.Now().Add(10 * enough); small().Code != http.StatusOK; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the user never gets a place again")
				}
			}
		})
	}
}
