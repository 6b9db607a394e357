package scale

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	idleWatches = 10_000
	waveBound   = 500 * time.Millisecond
	settleTime  = 6 * time.Second // after a burst, until its memory is given back

	idleConns      = 5_000
	idleConnsBound = 13.0 // KiB each
)

// TestIdleWatches measures the cost of a waiting watch, and the time that one update
// takes to reach all of them.
func TestIdleWatches(t *testing.T) {
	for _, protocol := range []struct {
		name  string
		bound float64 // KiB each
		files uint64  // on either side
		open  func(*instance) (*bufio.Reader, io.Closer, error)
	}{
		{"HTTP 1.1", 20, idleWatches, func(s *instance) (*bufio.Reader, io.Closer, error) { return s.dial("") }},
		{"HTTP 2", 22, idleWatches / 50, nil}, // a buffer of net/http for each
	} {
		t.Run(protocol.name, func(t *testing.T) {
			s := start(t)
			needFiles(t, protocol.files)
			open := protocol.open
			if open == nil {
				open = streamsOf(t)
			}
			s.create()
			w := &crowd{t: t, s: s}
			before := s.resident()
			begin := time.Now()
			w.open(idleWatches, open)
			t.Logf("%d watches opened in %.1f s; %.1f KiB resident each at once", idleWatches, time.Since(begin).Seconds(), (s.resident()-before)/idleWatches)
			time.Sleep(settleTime)
			each := (s.resident() - before) / idleWatches
			t.Logf("%.1f KiB resident each after some seconds", each)
			if each > protocol.bound {
				t.Errorf("soon after it was opened a watch holds %.1f KiB, the bound is %.0f", each, protocol.bound)
			}
			each = (settled(w.s) - before) / idleWatches
			t.Logf("%.1f KiB resident each", each)
			if each > protocol.bound {
				t.Errorf("an idle watch holds %.1f KiB, the bound is %.0f", each, protocol.bound)
			}
			best := time.Hour
			for n := 1; n <= 5; n++ {
				took, acknowledged, cpu := w.update(n)
				t.Logf("update %d: acknowledged after %.1f ms, read by all after %.1f ms; server CPU %.1f us per event", n, ms(acknowledged), ms(took), float64(cpu.Microseconds())/idleWatches)
				best = min(best, took)
			}
			if best > waveBound {
				t.Errorf("an update took %v to reach all, the bound is %v", best, waveBound)
			}
			if each = (settled(w.s) - before) / idleWatches; each > protocol.bound {
				t.Errorf("after some updates an idle watch holds %.1f KiB, the bound is %.0f", each, protocol.bound)
			}
			t.Logf("%.1f KiB resident each after the updates", each)
			w.close()
		})
	}
}

// TestIdleConnections measures the cost of a connection that a client keeps for its next
// request.
func TestIdleConnections(t *testing.T) {
	s := start(t)
	needFiles(t, idleConns)
	s.create()
	before := s.resident()
	conns := make([]net.Conn, idleConns)
	var next atomic.Int64
	var openers sync.WaitGroup
	for range 32 {
		openers.Go(func() {
			for i := next.Add(1) - 1; i < idleConns && !t.Failed(); i = next.Add(1) - 1 {
				conn, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true})
				if err != nil {
					t.Error(err)
					return
				}
				conns[i] = conn
				if _, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", object, token); err != nil {
					t.Error(err)
					return
				}
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err == nil {
					_, err = io.Copy(io.Discard, resp.Body)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	openers.Wait()
	atOnce := (s.resident() - before) / idleConns
	time.Sleep(settleTime)
	each := (s.resident() - before) / idleConns
	t.Logf("%.1f KiB resident each at once, %.1f after some seconds", atOnce, each)
	if each > idleConnsBound {
		t.Errorf("an idle connection holds %.1f KiB, the bound is %.0f", each, idleConnsBound)
	}
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

// needFiles skips the test where a process may not have as many files open.
func needFiles(t *testing.T, n uint64) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil || limit.Max < n+200 {
		t.Skipf("needs %d open files, may have %d: ulimit -Hn", n+200, limit.Max)
	}
}

// streamsOf returns a function that opens watches over HTTP/2, as many on a connection as
// the server allows.
func streamsOf(t *testing.T) func(*instance) (*bufio.Reader, io.Closer, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return func(s *instance) (*bufio.Reader, io.Closer, error) {
		ctx, cancel := context.WithCancel(context.Background())
		req, err := http.NewRequestWithContext(ctx, "GET", "https://"+s.address+collection+"?watch=1&timeoutSeconds=3000", nil)
		if err != nil {
			cancel()
			return nil, nil, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			cancel()
			return nil, nil, err
		}
		return bufio.NewReaderSize(resp.Body, 4<<10), closer{cancel, resp.Body}, nil
	}
}

type closer struct {
	cancel context.CancelFunc
	body   io.Closer
}

func (c closer) Close() error { c.cancel(); return c.body.Close() }

// crowd is many watches of one collection.
type crowd struct {
	t      *testing.T
	s      *instance
	conns  []io.Closer
	read   atomic.Int64 // events of the present updates
	want   int64        // of them
	all    chan struct{}
	closed atomic.Bool
	ended  sync.WaitGroup
}

// open opens watches and waits until each has its initial event.
func (w *crowd) open(n int, open func(*instance) (*bufio.Reader, io.Closer, error)) {
	w.t.Helper()
	w.all, w.want = make(chan struct{}, 1), int64(n)
	lines := make([]*bufio.Reader, n)
	w.conns = make([]io.Closer, n)
	var next atomic.Int64
	var openers sync.WaitGroup
	for range 32 {
		openers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && !w.t.Failed(); i = next.Add(1) - 1 {
				r, c, err := open(w.s)
				if err != nil {
					w.t.Errorf("watch %d: %v", i, err)
					return
				}
				lines[i], w.conns[i] = r, c
				for {
					line, err := r.ReadSlice('\n')
					if err != nil {
						w.t.Errorf("watch %d: %v", i, err)
						return
					}
					if bytes.HasPrefix(line, []byte(`{"type":"ADDED"`)) {
						break
					}
				}
			}
		})
	}
	openers.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
	for i, r := range lines {
		w.ended.Go(func() {
			for {
				line, err := r.ReadSlice('\n')
				if err != nil {
					if !w.closed.Load() {
						w.t.Errorf("watch %d: %v", i, err)
					}
					return
				}
				if bytes.HasPrefix(line, []byte(`{"type":"MODIFIED"`)) && w.read.Add(1) == w.want {
					w.all <- struct{}{}
				}
			}
		})
	}
}

// update changes the object and waits until all have read it.
func (w *crowd) update(n int) (took, acknowledged, cpu time.Duration) {
	w.t.Helper()
	w.read.Store(0)
	before, begin := w.s.cpu(), time.Now()
	w.s.update(n)
	acknowledged = time.Since(begin)
	select {
	case <-w.all:
	case <-time.After(30 * time.Second):
		w.t.Fatalf("%d watches have read the update, not more", w.read.Load())
	}
	return time.Since(begin), acknowledged, w.s.cpu() - before
}

func (w *crowd) close() {
	w.closed.Store(true)
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.ended.Wait()
}
