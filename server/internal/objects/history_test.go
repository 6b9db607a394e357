package objects_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
)

// TestHistory lets writers and a few hundred watchers of all sorts use one server,
// restarts it and trims its history in between, and checks their records against the
// promises of internal/history.
func TestHistory(t *testing.T) {
	size := historySize{watchers: 300, writers: 4, operations: 80, rounds: 1}
	if stress() {
		size = historySize{watchers: 400, writers: 6, operations: 100, rounds: 4}
	}
	seed := seed(t)
	began := time.Now()
	run := newHistoryRun(t, seed, size)
	for range size.rounds {
		run.round()
	}
	run.finish()
	h := run.recorder.History()
	t.Logf("ran %v; %s", time.Since(began).Round(time.Millisecond), summary(h))
	began = time.Now()
	for _, v := range history.Check(h) {
		t.Error(v)
	}
	t.Logf("checked in %v", time.Since(began).Round(time.Millisecond))
}

// historySize is the size of a run. Each writer does operations in each of the three
// parts of a round.
type historySize struct{ watchers, writers, operations, rounds int }

// historyRun is a site with its clients.
type historyRun struct {
	*site
	ctx        context.Context
	cancel     context.CancelFunc
	watching   sync.WaitGroup
	gate       *gate
	references []*watcher
	watchers   []*watcher // references among them
	writers    []*writer
	size       historySize
	drains     int
}

func newHistoryRun(t *testing.T, seed uint64, size historySize) *historyRun {
	run := &historyRun{site: openSite(t), gate: newGate(), size: size}
	run.ctx, run.cancel = context.WithCancel(context.Background())
	t.Cleanup(func() { run.cancel(); run.watching.Wait() })
	for _, resource := range resources {
		run.references = append(run.references, run.newReference(resource))
	}
	run.watchers = append(run.watchers, run.references...)
	for i := range size.watchers {
		run.watchers = append(run.watchers, run.newWatcher(seed, i, run.gate))
	}
	for i := range size.writers {
		run.writers = append(run.writers, run.newWriter(seed, uint64(i)))
	}
	for _, name := range namespaces {
		body := fmt.Sprintf(`{"metadata":{"name":%q}}`, name)
		if code, text, err := run.send(run.ctx, 1, http.MethodPost, "/api/v1/namespaces", nil, "application/json", []byte(body)); err != nil || code != 201 && code != 409 {
			t.Fatalf("namespace %s: %d %v %s", name, code, err, text)
		}
	}
	// The references watch before the first write.
	for _, w := range run.references {
		run.watching.Go(func() { w.run(run.ctx) })
	}
	run.drain(run.references)
	for _, w := range run.watchers[len(run.references):] {
		run.watching.Go(func() { w.run(run.ctx) })
	}
	return run
}

// write lets all writers work; meanwhile does something else.
func (run *historyRun) write(meanwhile func()) {
	var group sync.WaitGroup
	for _, w := range run.writers {
		group.Go(func() { w.run(run.ctx, run.size.operations) })
	}
	meanwhile()
	group.Wait()
}

// round is writes alone, writes during a restart, and writes while history is trimmed
// that some watchers have not seen yet.
func (run *historyRun) round() {
	run.write(func() {})
	run.drain(run.watchers)

	run.gate.set(false)
	run.write(run.restart)
	run.gate.set(true)
	run.drain(run.watchers)

	run.gate.set(false)
	run.write(func() {})
	run.drain(run.references) // they see the changes before these are trimmed
	run.trim(run.ctx)
	run.write(func() {})
	run.gate.set(true)
	run.drain(run.watchers)
}

// drainTime bounds the time until the slowest watcher shows a write when nothing else
// happens.
const drainTime = time.Minute

// drain waits until watchers have shown all writes. To know that, it writes objects that
// each of them has to show, twice: a watcher that has shown the first writes has begun,
// so that the second come as changes, after everything before them.
func (run *historyRun) drain(watchers []*watcher) {
	run.t.Helper()
	all := len(watchers) == len(run.watchers)
	if all {
		run.calm.Store(true)
		defer run.calm.Store(false)
	}
	ctx, cancel := context.WithTimeout(run.ctx, drainTime)
	defer cancel()
	w := run.writers[0]
	for range 2 {
		run.drains++
		for _, resource := range resources {
			in := namespaces
			if resource == "nodes" {
				in = []string{""}
			}
			for _, namespace := range in {
				for _, name := range []string{sentinel, objectName} {
					o := object{resource, namespace, name}
					for !w.write(ctx, history.Update, o, http.MethodPut, o.path(), "application/json", o.body(fmt.Sprintf("drain-%d", run.drains), "web", "", true, 0), "") {
						if ctx.Err() != nil || run.t.Failed() {
							run.t.Fatalf("cannot write %s", o.key())
						}
					}
				}
			}
		}
		for _, w := range watchers {
			w.await(ctx, run.drains)
		}
	}
}

// finish stops the server while watches run, starts it, and checks once more.
func (run *historyRun) finish() {
	run.restart()
	run.drain(run.watchers)
	for _, resource := range resources {
		if run.list(run.ctx, history.Options{Resource: resource}, nil, run.recorder.Newest()) == nil {
			run.t.Errorf("no last list of %s", resource)
		}
	}
	run.cancel()
	run.watching.Wait()
	sent := make(map[string]int)
	for _, w := range run.writers {
		for what, n := range w.sent {
			sent[what] += n
		}
	}
	var lines []string
	for _, what := range slices.Sorted(maps.Keys(sent)) {
		lines = append(lines, fmt.Sprintf("%s: %d", what, sent[what]))
	}
	run.t.Log(strings.Join(lines, ", "))
}

func summary(h *history.History) string {
	events, bookmarks, expired, resumed := 0, 0, 0, 0
	for _, w := range h.Watches {
		for _, e := range w.Events {
			if events++; e.Type == history.Bookmark {
				bookmarks++
			}
		}
		if w.Expired {
			expired++
		}
		if w.From > 0 && w.Base == nil {
			resumed++
		}
	}
	return fmt.Sprintf("%d acknowledged writes, %d lists, %d watches (%d resumed, %d got 410), %d events (%d bookmarks)",
		len(h.Writes), len(h.Lists), len(h.Watches), resumed, expired, events, bookmarks)
}
