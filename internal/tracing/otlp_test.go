package tracing

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	const head = "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\n"
	for _, c := range []struct{ text, want string }{
		{head, "tcp localhost:4317 0"},
		{strings.Replace(head, "v1beta1", "v1alpha1", 1) + "samplingRatePerMillion: 1000000\nendpoint: collector.example:4317\n", "tcp collector.example:4317 1000000"},
		{head + "endpoint: dns:///[::1]:4317\n", "tcp [::1]:4317 0"},
		{head + "endpoint: dns://8.8.8.8/collector:1\n", "tcp collector:1 0"},
		{head + "endpoint: collector\n", "tcp collector:443 0"},
		{head + "endpoint: unix:///run/o.sock\n", "unix /run/o.sock 0"},
		{head + "endpoint: unix-abstract:o\n", "unix @o 0"},
		{head + "endpoint: http://collector:4318\n", `:3: endpoint: "http://collector:4318": write HOST:PORT`},
		{head + "endpoint: a:b:c\n", ":3: endpoint:"},
		{head + "samplingRatePerMillion: 1000001\n", ":3: samplingRatePerMillion: 1000001 is out of range"},
		{head + "samplingRatePerMillion: -1\n", ":3: samplingRatePerMillion: -1 is out of range"},
		{head + "samplingRatePerMillion: many\n", ":3: "},
		{head + "sampling: 1\n", `:3: unknown field "sampling"`},
		{"apiVersion: v1\nkind: Pod\n", ":1: kind "},
		{"", ":1: the file is empty"},
	} {
		path := filepath.Join(t.TempDir(), "tracing.yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := ""
		if config, err := ReadConfig(path); err != nil {
			got = strings.TrimPrefix(err.Error(), path)
		} else {
			got = fmt.Sprint(config.network, " ", config.address, " ", config.Rate)
		}
		if !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %s, want %s", c.text, got, c.want)
		}
	}
}

// counts are the figures of a sender.
type counts struct {
	mu   sync.Mutex
	ends map[string]int
}

func (c *counts) Spans(end string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[end] += n
}

func (c *counts) of(end string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ends[end]
}

// collector is a gRPC server without a library.
func collector(t *testing.T, handle http.HandlerFunc) (address string) {
	s := httptest.NewUnstartedServer(handle)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// accept answers a call with a message.
func accept(w http.ResponseWriter, r *http.Request, message []byte) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/grpc")
	w.Header().Set("Trailer", "Grpc-Status")
	_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...))
	w.Header().Set("Grpc-Status", "0")
}

func open(t *testing.T, address string, pauses Pauses) (*Sender, *counts) {
	n := &counts{ends: map[string]int{}}
	s := Open(&Config{Rate: 1e6, network: "tcp", address: address}, "test", n, slog.New(slog.DiscardHandler), pauses)
	t.Cleanup(func() { s.Close(context.Background()) })
	return s, n
}

// record makes spans.
func record(s *Sender, spans int) {
	for range spans {
		_, span := s.Request(context.Background(), httptest.NewRequest("GET", "/", nil), time.Now(), false)
		span.Answered(200, 1)
	}
}

// Spans are sent once a batch is due or full, what a collector does not accept is counted,
// and the rest leaves with the end.
func TestSpansAreSentInBatches(t *testing.T) {
	batches := make(chan int64, 10)
	s, n := open(t, collector(t, func(w http.ResponseWriter, r *http.Request) {
		batches <- r.ContentLength
		accept(w, r, []byte{0x0a, 2, 0x08, 1}) // one span is rejected
	}), Pauses{Batch: time.Hour, Call: 10 * time.Second, Again: time.Hour, Give: time.Hour})
	record(s, mostBatch)
	<-batches
	record(s, 3)
	s.Close(context.Background())
	if len(batches) != 1 || n.of("sent") != mostBatch+3-2 || n.of("failed") != 2 {
		t.Errorf("%d more batches, %v", len(batches), n.ends)
	}
}

// A collector that is not there, hangs or answers wrongly costs bounded memory, which is
// counted, and nobody waits for it.
func TestCollectorsFail(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = nobody.Close()
	hang := make(chan struct{})
	defer close(hang)
	for name, address := range map[string]string{
		"dead": nobody.Addr().String(),
		"slow": collector(t, func(http.ResponseWriter, *http.Request) { <-hang }),
		"garbage": collector(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat("garbage", 1000)))
		}),
		"endless": collector(t, func(w http.ResponseWriter, r *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
		}),
		"refusing": collector(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Grpc-Status", "3") }),
	} {
		t.Run(name, func(t *testing.T) {
			s, n := open(t, address, Pauses{Batch: time.Millisecond, Call: 200 * time.Millisecond, Again: time.Millisecond, Give: 50 * time.Millisecond})
			const all = 4 * mostWaiting
			begin := time.Now()
			record(s, all)
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("recording took %v", took)
			}
			s.Close(context.Background())
			if lost := n.of("failed") + n.of("dropped"); lost != all || n.of("sent") != 0 || len(s.ended) != 0 {
				t.Errorf("%d of %d are counted: %v", lost, all, n.ends)
			}
		})
	}
}

// A collector that comes back gets the batch that it had missed.
func TestCollectorComesBack(t *testing.T) {
	tries := 0
	s, n := open(t, collector(t, func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries == 1 {
			w.Header().Set("Grpc-Status", "14")
			return
		}
		accept(w, r, nil)
	}), Pauses{Batch: time.Millisecond, Call: 10 * time.Second, Again: time.Millisecond, Give: time.Hour})
	record(s, 1)
	for begin := time.Now(); n.of("sent") != 1; time.Sleep(time.Millisecond) {
		if time.Since(begin) > 10*time.Second {
			t.Fatalf("after %d tries: %v", tries, n.ends)
		}
	}
}

// The spans of a request without tracing cost nothing.
func TestNoSpansAreFree(t *testing.T) {
	ctx, h := context.Background(), http.Header{}
	if n := testing.AllocsPerRun(100, func() {
		inner, span := Start(ctx, "x")
		span.Text("a", "b")
		span.Number("n", 1)
		span.Sized("event", 7)
		span.Ended("event", io.EOF)
		span.Event("event")
		Stage(inner, "y", time.Time{})
		Call(inner, "POST", "https://x", h)(200, nil)
		span.Answered(200, 1)
		span.End()
	}); n != 0 || len(h) != 0 {
		t.Errorf("%v allocations, headers %v", n, h)
	}
}
