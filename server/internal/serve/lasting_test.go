package serve_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/streamtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// target is the server for the clients of streamtest.
func target(h *harness.Server) streamtest.Target {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(h.Running.CA())
	return streamtest.Target{URL: h.Running.URL(), Token: harness.AdminToken, TLS: &tls.Config{RootCAs: pool}}
}

// short shortens times of minutes to a fraction of a second.
func short(cfg *server.Config) {
	cfg.RequestTimeout = 800 * time.Millisecond
	harness.Shorten(cfg, func(d *seams.Durations) {
		d.Stall, d.Idle, d.Bookmark = 100*time.Millisecond, 100*time.Millisecond, 50*time.Millisecond
		d.Header, d.Ping = 800*time.Millisecond, 500*time.Millisecond
	})
}

// lasting is a watch of the matrix: idle after its first event or trickling, and the way
// in which it ends.
type lasting struct {
	streamtest.Watch
	trickles, bookmarks, seconds bool
}

func (l lasting) String() string {
	return fmt.Sprintf("%s binary=%t trickles=%t bookmarks=%t timeoutSeconds=%t", l.Transport, l.Binary, l.trickles, l.bookmarks, l.seconds)
}

// lastings is the matrix.
func lastings() (all []lasting) {
	for _, transport := range streamtest.Transports {
		for bits := range 1 << 4 {
			l := lasting{Watch: streamtest.Watch{Transport: transport, Binary: bits&1 != 0}, trickles: bits&2 != 0, bookmarks: bits&4 != 0, seconds: bits&8 != 0}
			l.Path = harness.ConfigMaps + "?watch=1&resourceVersion=0"
			if !l.trickles {
				l.Path += "&fieldSelector=metadata.name%3Db"
			}
			if l.bookmarks {
				l.Path += "&allowWatchBookmarks=true"
			}
			if l.seconds {
				l.Path += "&timeoutSeconds=1"
			}
			all = append(all, l)
		}
	}
	return all
}

// enough reports whether a watch has shown that it goes on: several events of each sort
// that it should have. One that lasts a second may be slow to.
func (l lasting) enough(seen map[string]int) bool {
	least := 6
	if l.seconds {
		least = 1
	}
	return seen["ADDED"] > 0 && (!l.trickles || seen["ADDED"]+seen["MODIFIED"] >= least) && (!l.bookmarks || seen["BOOKMARK"] >= least)
}

// proper reports whether a watch has shown only permitted events.
func (l lasting) proper(seen map[string]int) bool {
	return seen["ERROR"] == 0 && (l.trickles || seen["ADDED"]+seen["MODIFIED"] == 1) && (l.bookmarks || seen["BOOKMARK"] == 0)
}

// follow opens a watch and reads it to its end. opened and settled are called once it is
// open and has shown enough, or when it fails.
func (l lasting) follow(ctx context.Context, at streamtest.Target, opened, settled func()) error {
	opened, settled = sync.OnceFunc(opened), sync.OnceFunc(settled)
	defer settled()
	defer opened()
	begun := time.Now()
	s, err := streamtest.Open(ctx, at, l.Watch)
	if err != nil {
		return err
	}
	opened()
	for seen := map[string]int{}; ; {
		event, err := s.Next()
		switch took := time.Since(begun); {
		case err == io.EOF && took >= time.Second && l.enough(seen) && l.proper(seen):
			return nil
		case err != nil:
			return fmt.Errorf("%s: after %s and %v: %w", l, took, seen, err)
		}
		if seen[event]++; l.enough(seen) {
			settled()
		}
	}
}

// TestWatchesLast: idle or not, a watch goes on past every time-out of the server, and
// ends properly: after its timeoutSeconds, or when the server stops.
func TestWatchesLast(t *testing.T) {
	h := harness.Start(t, short)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	h.Create(harness.ConfigMaps, harness.ConfigMap("b", "{}"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var pending, timed, untimed sync.WaitGroup // pending: events to be seen before the end
	opening := make(chan struct{}, 8)          // else TLS would take too long for some
	for _, l := range lastings() {
		pending.Add(2)
		follow := func() {
			opening <- struct{}{}
			if err := l.follow(ctx, target(h), func() { <-opening; pending.Done() }, pending.Done); err != nil {
				t.Error(err)
			}
		}
		if l.seconds {
			timed.Go(follow)
		} else {
			untimed.Go(follow)
		}
	}
	over := make(chan struct{})
	go func() {
		pending.Wait()
		time.Sleep(1500 * time.Millisecond) // far more than any time-out
		timed.Wait()
		close(over)
	}()
writing:
	for i := 0; ctx.Err() == nil; i++ {
		// Again on a connection that the server has just closed, or when it is late.
		h.Send("PATCH", harness.ConfigMaps+"/a", harness.MergePatchMedia, fmt.Appendf(nil, `{"data":{"k":"%d"}}`, i), "Idempotency-Key", "k")
		select {
		case <-over:
			break writing
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := h.Running.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	untimed.Wait()
}

// TestStalledClients: a client that leaves its connection or stream full is found and
// dropped, in all transports.
func TestStalledClients(t *testing.T) {
	h := harness.Start(t, short)
	text := strings.Repeat("x", 1<<20)
	for i := range 14 { // more than connections buffer
		h.Create(harness.ConfigMaps, harness.ConfigMap(fmt.Sprintf("large-%02d", i), `{"k":"`+text+`"}`))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	const watching = `apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"`
	for _, transport := range streamtest.Transports {
		s, err := streamtest.Open(ctx, target(h), streamtest.Watch{Transport: transport, Path: harness.ConfigMaps + "?watch=1"})
		if err != nil {
			t.Fatal(err)
		}
		for h.Figures()[watching] != "0" {
			if ctx.Err() != nil {
				t.Fatalf("%s: the server waits for a client that does not read", transport)
			}
		}
		if seen, err := s.All(); err == nil {
			t.Errorf("%s: ended well, after %v", transport, seen)
		}
		s.Close()
	}
	h.Get(harness.ConfigMaps+"/large-00").Expect(t, http.StatusOK, "")
}
