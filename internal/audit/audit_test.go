package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
)

// counted is Figures for tests.
type counted struct {
	mu                sync.Mutex
	recorded, refused int
	failed            map[string]int
}

func (c *counted) Recorded()     { c.mu.Lock(); c.recorded++; c.mu.Unlock() }
func (c *counted) Decided(Level) {}
func (c *counted) Refused()      { c.mu.Lock(); c.refused++; c.mu.Unlock() }
func (c *counted) Failed(part string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = map[string]int{}
	}
	c.failed[part] += n
}

// fake is a place for tests.
type fake struct {
	mu      sync.Mutex
	batches [][]string
	fails   error
	block   chan struct{} // nil, or closed to go on
	waiting atomic.Int64  // calls of send that wait for it, and have
}

func (f *fake) name() string                   { return "fake" }
func (f *fake) text(_ *Event, l []byte) []byte { return l }
func (f *fake) apart() bool                    { return true }
func (f *fake) close() error                   { return nil }
func (f *fake) send(ctx context.Context, events [][]byte) error {
	if f.block != nil {
		f.waiting.Add(1)
		select {
		case <-f.block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, e := range events {
		all = append(all, string(e))
	}
	f.batches = append(f.batches, all)
	return f.fails
}

func recorderOf(place place, d Delivery, figures Figures) *Recorder {
	d.setDefaults(modeBatch, 400)
	r := &Recorder{policy: &standard, figures: figures, buffers: sync.Pool{New: func() any { return new([]byte) }}}
	r.add(place, d, losses{figures: figures, log: slog.New(slog.DiscardHandler)})
	return r
}

func eventOf(rule *Rule) *Event {
	e := NewEvent(rule, &authz.Attributes{User: &authn.User{Name: "u"}, Verb: "create", ResourceRequest: true, Resource: "configmaps", Version: "v1", Namespace: "default"})
	e.ID, e.URI, e.Received, e.Sources, e.Code = "id", "/api/v1/namespaces/default/configmaps", time.Unix(1, 0), []string{"127.0.0.1"}, 201
	return e
}

var all = &Rule{Level: RequestResponse}

// A batch leaves when it is full; the rest at the end, before Close returns.
func TestBatches(t *testing.T) {
	var figures counted
	to := &fake{}
	r := recorderOf(to, Delivery{MaxBatchSize: 3, MaxBatchWait: time.Hour}, &figures)
	for range 8 {
		r.Record(eventOf(all), ResponseComplete, time.Now().Add(time.Minute))
	}
	r.Close(context.Background())
	sizes := map[int]int{}
	for _, b := range to.batches {
		sizes[len(b)]++
	}
	if sizes[3] != 2 || sizes[2] != 1 || len(to.batches) != 3 || figures.recorded != 8 || figures.failed != nil {
		t.Errorf("%v, %+v", sizes, figures.failed)
	}
}

// While a place is slow, so many events wait; further ones are lost and counted. At the
// end those that wait are delivered, or given up and counted when the time is over.
func TestSlowPlace(t *testing.T) {
	for _, patient := range []bool{true, false} {
		var figures counted
		to := &fake{block: make(chan struct{})}
		r := recorderOf(to, Delivery{BufferSize: 10, MaxBatchSize: 4, MaxBatchWait: time.Hour}, &figures)
		for range 25 {
			if !r.Record(eventOf(all), ResponseComplete, time.Now().Add(time.Minute)) {
				t.Error("the request may not go on")
			}
		}
		if figures.failed["buffered"] != 15 {
			t.Errorf("%v", figures.failed)
		}
		ctx, cancel := context.WithCancel(context.Background())
		if patient {
			close(to.block)
		} else {
			cancel()
		}
		r.Close(ctx)
		cancel()
		got := 0
		for _, b := range to.batches {
			got += len(b)
		}
		if patient && got != 10 || !patient && figures.failed["fake"] != 10 {
			t.Errorf("patient %v: %d delivered, %v lost", patient, got, figures.failed)
		}
	}
}

// Waiting events are bounded in bytes too.
func TestLargeEventsWait(t *testing.T) {
	var figures counted
	to := &fake{block: make(chan struct{})}
	r := recorderOf(to, Delivery{}, &figures)
	for range 5 {
		e := eventOf(all)
		e.Request = []byte(`"` + strings.Repeat("x", mostWaiting/4) + `"`)
		r.Record(e, ResponseComplete, time.Now().Add(time.Minute))
	}
	if figures.failed["buffered"] != 2 {
		t.Errorf("%v", figures.failed)
	}
	close(to.block)
	r.Close(context.Background())
}

// So are those that requests wait for: further ones have no bodies.
func TestLargeEventsBlock(t *testing.T) {
	var figures counted
	to := &fake{block: make(chan struct{})}
	r := recorderOf(to, Delivery{Mode: modeBlocking}, &figures)
	var requests sync.WaitGroup
	for range 5 {
		requests.Go(func() {
			e := eventOf(all)
			e.Request = []byte(`"` + strings.Repeat("x", mostWaiting/4) + `"`)
			if r.Record(e, ResponseComplete, time.Now().Add(time.Minute)); e.Request != nil {
				t.Error("the body waits with the event")
			}
		})
	}
	for end := time.Now().Add(10 * time.Second); to.waiting.Load() != 5; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d events wait", to.waiting.Load())
		}
	}
	close(to.block)
	requests.Wait()
	r.Close(context.Background())
	whole := 0
	for _, b := range to.batches {
		if len(b[0]) > mostWaiting/4 {
			whole++
		}
	}
	if whole != 3 || len(to.batches) != 5 || figures.failed != nil {
		t.Errorf("%d of %d events have bodies, %v", whole, len(to.batches), figures.failed)
	}
}

// An event that is too large loses its bodies, or is lost.
func TestTruncation(t *testing.T) {
	var figures counted
	to := &fake{}
	r := recorderOf(to, Delivery{Mode: modeBlocking, Truncate: true, MaxEventBytes: 1000}, &figures)
	e := eventOf(all)
	e.Annotate("a", "b")
	e.Response = []byte(`"` + strings.Repeat("x", 2000) + `"`)
	r.Record(e, ResponseStarted, time.Now().Add(time.Minute))
	e.URI = strings.Repeat("/x", 1000)
	r.Record(e, ResponseStarted, time.Now().Add(time.Minute))
	if len(to.batches) != 1 || strings.Contains(to.batches[0][0], "responseObject") || !strings.Contains(to.batches[0][0], `"annotations":{"a":"b","audit.k8s.io/truncated":"true"}`) || figures.failed["truncate"] != 1 {
		t.Errorf("%v %v", to.batches, figures.failed)
	}
	if e.Response == nil || len(e.Notes) != 1 {
		t.Error("the event of the request was changed")
	}
}

// A request may not go on when its begin is not recorded, in the strict mode.
func TestModes(t *testing.T) {
	for mode, on := range map[string]bool{modeBatch: true, modeBlocking: true, modeStrict: false} {
		var figures counted
		r := recorderOf(&fake{fails: errors.New("no")}, Delivery{Mode: mode}, &figures)
		if got := r.Record(eventOf(all), RequestReceived, time.Now().Add(time.Minute)); got != on || (figures.refused == 1) == on {
			t.Errorf("%s: %v, %d refused", mode, got, figures.refused)
		}
		if !r.Record(eventOf(all), ResponseComplete, time.Now().Add(time.Minute)) || !r.Record(eventOf(&Rule{Omit: 1 << Panic}), Panic, time.Now().Add(time.Minute)) {
			t.Errorf("%s: an answered request is refused", mode)
		}
		r.Close(context.Background())
		if figures.failed["fake"] != 2 {
			t.Errorf("%s: %v", mode, figures.failed)
		}
	}
}

// A webhook gets lists of events. A failed call is repeated.
func TestWebhook(t *testing.T) {
	var bodies []string
	calls := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
	}))
	defer s.Close()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("current-context: c\ncontexts: [{name: c, context: {cluster: s}}]\nclusters: [{name: s, cluster: {server: %s/events}}]\n", s.URL)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Webhook: WebhookConfig{ConfigFile: file, InitialBackoff: time.Millisecond, Delivery: Delivery{MaxBatchWait: time.Hour}}}
	cfg.SetDefaults()
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	var figures counted
	r, err := Open(cfg, &figures, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r.Record(eventOf(all), ResponseComplete, time.Now().Add(time.Minute))
	}
	r.Close(context.Background())
	if len(bodies) != 1 || figures.failed != nil {
		t.Fatalf("%q %v", bodies, figures.failed)
	}
	var list struct {
		Kind, APIVersion string
		Metadata         *struct{}
		Items            []struct{ Kind, Level, AuditID string }
	}
	if err := json.Unmarshal([]byte(bodies[0]), &list); err != nil || list.Kind != "EventList" || list.APIVersion != apiVersion || list.Metadata == nil || len(list.Items) != 2 || list.Items[1].AuditID != "id" || list.Items[0].Kind != "" {
		t.Errorf("%v %s", err, bodies)
	}
}

// A log goes on in a new file when it is large enough, and keeps so many old ones.
func TestRotation(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Log: LogConfig{Path: filepath.Join(dir, "sub", "audit.log"), MaxSize: 1, MaxBackups: 1}}
	cfg.SetDefaults()
	r, err := Open(cfg, &counted{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		e := eventOf(all)
		e.Request = []byte(`"` + strings.Repeat("x", 400<<10) + `"`)
		r.Record(e, ResponseComplete, time.Now().Add(time.Minute))
		time.Sleep(2 * time.Millisecond) // old files are named by milliseconds
	}
	r.Close(context.Background())
	old := func() int {
		files, _ := filepath.Glob(filepath.Join(dir, "sub", "audit-*.log"))
		return len(files)
	}
	for end := time.Now().Add(10 * time.Second); old() != 1; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d old files", old())
		}
	}
}

// The legacy format is one line of text.
func TestLegacyFormat(t *testing.T) {
	e := eventOf(all)
	e.User.Groups, e.Agent = []string{"a", "b"}, "x"
	want := `1970-01-01T00:00:01Z AUDIT: id="id" stage="RequestReceived" ip="127.0.0.1" method="create" user="u" groups="\"a\",\"b\"" as="<self>" asgroups="<lookup>" user-agent="x" namespace="default" uri="/api/v1/namespaces/default/configmaps" response="201"` + "\n"
	if got := string(e.legacy()); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Mistakes in flags are all reported.
func TestConfigMistakes(t *testing.T) {
	cfg := Config{PolicyFile: "p"}
	cfg.SetDefaults()
	if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), "nothing is recorded") {
		t.Error(err)
	}
	cfg.Log.Path, cfg.Log.Format, cfg.Log.Mode, cfg.Log.MaxAge, cfg.Log.MaxBatchBytes, cfg.Log.Version = "x", "xml", "fast", -1, 1, "v2"
	err := cfg.Validate()
	for _, want := range []string{"--audit-log-format", "--audit-log-mode", "--audit-log-maxage", "--audit-log-truncate-max-batch-size", "--audit-log-version"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %s", err, want)
		}
	}
}

// BenchmarkRecord is the cost of an event at level Metadata in a file.
func BenchmarkRecord(b *testing.B) {
	cfg := Config{Log: LogConfig{Path: filepath.Join(b.TempDir(), "log")}}
	cfg.SetDefaults()
	r, err := Open(cfg, &counted{}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close(context.Background())
	e := eventOf(&Rule{Level: Metadata})
	e.Annotate("authorization.k8s.io/decision", "allow")
	e.Annotate("authorization.k8s.io/reason", "")
	b.ReportAllocs()
	for b.Loop() {
		r.Record(e, ResponseComplete, time.Now().Add(time.Minute))
	}
}
