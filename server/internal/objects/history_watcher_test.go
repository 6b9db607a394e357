package objects_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// watcher follows some objects of a site, with one watch after the other.
type watcher struct {
	*site
	name    string
	options history.Options
	query   url.Values // the selectors
	r       *rand.Rand
	major   int
	socket  bool   // speaks WebSocket, as a browser
	form    string // of the events: a media type
	start   string // the beginning: "" and "0" as in resourceVersion, "list", "initial"
	marked  bool   // requests bookmarks
	slow    bool   // pauses between events while the gate is closed
	rover   bool   // hangs up periodically, and comes back when the gate is open
	gate    *gate

	at   uint64         // everything up to here was shown; 0 when unknown
	last *history.Watch // the previous watch

	mu    sync.Mutex
	seen  int           // newest drain whose writes were shown
	moved chan struct{} // closed when seen moves
}

// gate blocks watchers while it is closed.
type gate struct {
	mu   sync.Mutex
	open chan struct{} // closed when watchers may pass
}

func newGate() *gate { g := &gate{open: make(chan struct{})}; close(g.open); return g }

func (g *gate) pass() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.open
}

// set opens or closes the gate, which was in the other state.
func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if open {
		close(g.open)
	} else {
		g.open = make(chan struct{})
	}
}

const (
	asTable   = "application/json;as=Table;g=meta.k8s.io;v=v1"
	asPartial = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
)

// newWatcher makes a watcher with random behaviour.
func (s *site) newWatcher(seed uint64, n int, g *gate) *watcher {
	r := rand.New(rand.NewPCG(seed, uint64(n)<<32))
	w := &watcher{site: s, name: fmt.Sprint(n), r: r, gate: g, major: 1 + r.IntN(2), marked: r.IntN(2) == 0, moved: make(chan struct{})}
	w.options, w.query = randomOptions(r, resources[r.IntN(len(resources))])
	w.form = []string{"application/json", "application/json", "application/json", asTable, asPartial, harness.BinaryMedia}[r.IntN(6)]
	if w.form == "application/json" && r.IntN(6) == 0 {
		w.major, w.socket = 1, true
	}
	w.start = []string{"", "0", "list", "initial"}[r.IntN(4)]
	w.slow, w.rover = r.IntN(5) == 0, r.IntN(3) == 0
	return w
}

// newReference makes a watcher that sees everything of a resource.
func (s *site) newReference(resource string) *watcher {
	return &watcher{site: s, name: "of all " + resource, options: history.Options{Resource: resource}, query: url.Values{}, r: rand.New(rand.NewPCG(1, 1)),
		major: 2, form: "application/json", start: "initial", marked: true, gate: newGate(), moved: make(chan struct{})}
}

// mostFailures bounds the failures in a row of a watch before the test fails.
const mostFailures = 50

// errHungUp ends a watch that the client closes.
var errHungUp = errors.New("hung up")

// run watches until ctx ends.
func (w *watcher) run(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		record := &history.Watch{Options: w.options, Name: w.name}
		err := w.watch(ctx, record)
		switch {
		case ctx.Err() != nil:
			return
		case len(record.Events) > 0 || record.Expired || errors.Is(err, errHungUp):
			failures = 0
		default:
			failures++
		}
		if failures == mostFailures {
			w.t.Errorf("watch %s of %s fails again and again: %v", w.name, &w.options, err)
			return
		}
	}
}

// watch is one watch: from the end of the last one, or from the start.
func (w *watcher) watch(ctx context.Context, record *history.Watch) error {
	query, err := w.begin(ctx, record)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, resp, err := w.open(ctx, query)
	if resp == nil {
		return err
	}
	switch {
	case resp.StatusCode == http.StatusGone:
		w.recorder.Watch(record)
		w.expired(record)
		return nil
	case resp.StatusCode == http.StatusServiceUnavailable:
		return errors.New(resp.Status)
	case err != nil:
		w.t.Errorf("watch %s of %s with %v: %s %v", w.name, &w.options, query, resp.Status, err)
		return err
	}
	defer body.Close()
	w.recorder.Watch(record)
	w.last = record
	err = w.read(ctx, record, body)
	record.Cut = !record.Expired
	return err
}

// open sends the request of a watch. Without an answer resp is nil, and err has the
// reason.
func (w *watcher) open(ctx context.Context, query url.Values) (body io.ReadCloser, resp *http.Response, err error) {
	client, req, err := w.newRequest(ctx, w.major, http.MethodGet, collectionPath(w.options.Resource, w.options.Namespace), query, nil)
	if err != nil {
		return nil, nil, err
	}
	if w.socket {
		conn, resp, err := websocket.Dial(ctx, req.URL.String(), &websocket.DialOptions{HTTPClient: client, HTTPHeader: req.Header})
		if err != nil {
			return nil, resp, err
		}
		conn.SetReadLimit(10 << 20)
		return websocket.NetConn(ctx, conn, websocket.MessageText), resp, nil
	}
	req.Header.Set("Accept", w.form)
	if resp, err = client.Do(req); err != nil {
		return nil, nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return nil, resp, fmt.Errorf("%s", text)
}

// begin sets the start of a watch, in the record and in the query.
func (w *watcher) begin(ctx context.Context, record *history.Watch) (url.Values, error) {
	query := cloneValues(w.query)
	query.Set("watch", "1")
	if w.marked {
		query.Set("allowWatchBookmarks", "true")
	}
	if w.rover && w.r.IntN(4) == 0 {
		query.Set("timeoutSeconds", "1")
	}
	newest := w.recorder.Newest()
	switch {
	case w.at > 0:
		record.From, record.Continues = w.at, w.last
		if past := w.past(); w.rover && w.r.IntN(2) == 0 && past > 0 {
			record.From, record.Continues = past, nil // from any revision that was shown
		}
	case w.start == "list":
		if record.Base = w.list(ctx, w.options, w.query, newest); record.Base == nil {
			return nil, errors.New("no list")
		}
		for _, s := range record.Base.Items {
			w.note(&s)
		}
		record.From = record.Base.Revision
	case w.start == "initial":
		query.Set("sendInitialEvents", "true")
		query.Set("resourceVersionMatch", "NotOlderThan")
		query.Set("allowWatchBookmarks", "true")
		record.NotBefore = newest
		if w.r.IntN(2) == 0 {
			query.Set("resourceVersion", fmt.Sprint(max(newest, 1)))
		}
	case w.start == "":
		record.NotBefore = newest
	default:
		query.Set("resourceVersion", w.start)
	}
	if record.From > 0 {
		query.Set("resourceVersion", fmt.Sprint(record.From))
	}
	return query, nil
}

// past is a revision that the last watch has shown, 0 for none.
func (w *watcher) past() uint64 {
	if w.last == nil || len(w.last.Events) == 0 {
		return 0
	}
	i := w.r.IntN(len(w.last.Events))
	for j := i; j >= 0; j-- { // not among the initial events
		if e := &w.last.Events[j]; w.last.From > 0 || e.Type != history.Added {
			return w.last.Events[i].Revision
		}
	}
	return 0
}

// expired begins anew after 410.
func (w *watcher) expired(record *history.Watch) {
	record.Expired, record.Kept = true, w.kept.Load()
	w.at, w.last = 0, nil
	if w.options.Namespace == "" && w.options.Selector == "" && strings.HasPrefix(w.name, "of all") {
		w.t.Errorf("watch %s got 410 at %d: what it missed is not known", w.name, record.From)
	}
}

// read takes the events of a watch.
func (w *watcher) read(ctx context.Context, record *history.Watch, body io.Reader) error {
	stream := eventStream{resource: w.options.Resource, form: w.form, body: bufio.NewReader(body)}
	stream.json = json.NewDecoder(stream.body)
	until := -1
	if w.rover {
		until = w.r.IntN(40)
	}
	for n := 0; ; n++ {
		e, status, err := stream.next()
		if err != nil {
			return err
		}
		if status != nil {
			if status.Code != http.StatusGone {
				w.t.Errorf("watch %s of %s from %d ended with %+v", w.name, &w.options, record.From, status)
			}
			w.expired(record)
			return nil
		}
		record.Events = append(record.Events, e)
		if w.at > 0 || record.From > 0 || e.Type != history.Added && (e.InitialEnd || w.start != "initial") {
			w.at = e.Revision
		}
		if e.Type == history.Added || e.Type == history.Modified {
			w.note(&e.State)
		}
		if w.calm.Load() {
			continue
		}
		switch {
		case w.slow:
			select {
			case <-w.gate.pass():
			case <-ctx.Done():
				return ctx.Err()
			}
		case n == until && w.at > 0:
			select { // away for a while
			case <-w.gate.pass():
			case <-ctx.Done():
			}
			return errHungUp
		}
	}
}

// note finds the writes of a drain.
func (w *watcher) note(s *history.State) {
	var n int
	if _, err := fmt.Sscanf(s.Mark, "drain-%d", &n); err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > w.seen {
		w.seen = n
		close(w.moved)
		w.moved = make(chan struct{})
	}
}

// await waits until the writes of a drain were shown.
func (w *watcher) await(ctx context.Context, drain int) {
	for {
		w.mu.Lock()
		seen, moved := w.seen, w.moved
		w.mu.Unlock()
		if seen >= drain {
			return
		}
		select {
		case <-moved:
		case <-ctx.Done():
			w.t.Errorf("watch %s of %s (%s, HTTP %d, WebSocket %t, begun with %q) does not show what was written, it is at %d", w.name, &w.options, w.form, w.major, w.socket, w.start, w.at)
			return
		}
	}
}
