package server_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/streamtest"
	"github.com/capstan-dev/capstan/server"
)

// target is the server for the clients of streamtest.
func (h *harness) target() streamtest.Target {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(h.server.CA())
	return streamtest.Target{URL: h.server.URL(), Token: adminToken, TLS: &tls.Config{RootCAs: pool}}
}

// short makes what takes minutes take a fraction of a second.
func short(cfg *server.Config) {
	cfg.RequestTimeout = 400 * time.Millisecond
	cfg.Shorten(func(d *server.Durations) {
		d.Stall, d.Idle, d.Bookmark = 100*time.Millisecond, 100*time.Millisecond, 50*time.Millisecond
		d.Header, d.Ping = 500*time.Millisecond, 300*time.Millisecond
	})
}

// lasting is a watch of the matrix: idle after its first event or trickling, and
// how it ends.
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
			l.Path = configMaps + "?watch=1&resourceVersion=0"
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

// TestWatchesLast: idle or not, a watch goes on past every time-out of the server,
// and ends in the proper way: after the time that it was asked for, or when the
// server stops.
func TestWatchesLast(t *testing.T) {
	h := startServer(t, short)
	h.create(configMaps, configMap("a", "{}"))
	h.create(configMaps, configMap("b", "{}"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var opened, timed, untimed sync.WaitGroup
	for _, l := range lastings() {
		opened.Add(1)
		follow := func() {
			begun := time.Now()
			s, err := streamtest.Open(ctx, h.target(), l.Watch)
			opened.Done()
			if err != nil {
				t.Error(err)
				return
			}
			seen, err := s.All()
			switch took := time.Since(begun); {
			case err != nil:
				t.Errorf("%s: after %s and %v: %v", l, took, seen, err)
			case seen["ERROR"] > 0, seen["ADDED"] == 0, l.trickles != (seen["ADDED"]+seen["MODIFIED"] > 5), l.bookmarks != (seen["BOOKMARK"] > 5), took < time.Second:
				t.Errorf("%s: %v in %s", l, seen, took)
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
		opened.Wait()
		time.Sleep(1200 * time.Millisecond) // far more than any time-out
		timed.Wait()
		close(over)
	}()
writing:
	for i := 0; ctx.Err() == nil; i++ {
		h.patch(configMaps+"/a", fmt.Sprintf(`{"data":{"k":"%d"}}`, i))
		select {
		case <-over:
			break writing
		case <-time.After(10 * time.Millisecond):
		}
	}
	if err := h.server.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	untimed.Wait()
}

// TestStalledClients: a client that leaves its connection or stream full is found
// and let go, in all transports.
func TestStalledClients(t *testing.T) {
	h := startServer(t, short)
	text := strings.Repeat("x", 1<<20)
	for i := range 14 { // more than connections buffer
		h.create(configMaps, configMap(fmt.Sprintf("large-%02d", i), `{"k":"`+text+`"}`))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	const watching = `apiserver_longrunning_requests{component="apiserver",group="",resource="configmaps",scope="namespace",subresource="",verb="WATCH",version="v1"`
	for _, transport := range streamtest.Transports {
		s, err := streamtest.Open(ctx, h.target(), streamtest.Watch{Transport: transport, Path: configMaps + "?watch=1"})
		if err != nil {
			t.Fatal(err)
		}
		for h.figures()[watching] != "0" {
			if ctx.Err() != nil {
				t.Fatalf("%s: the server waits for a client that does not read", transport)
			}
		}
		if seen, err := s.All(); err == nil {
			t.Errorf("%s: ended well, after %v", transport, seen)
		}
		s.Close()
	}
	h.get(configMaps+"/large-00").expect(t, http.StatusOK, "")
}
