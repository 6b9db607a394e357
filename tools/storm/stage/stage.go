// Package stage is where a storm happens: the server, its clients, their requests and
// watches.
package stage

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
	"github.com/capstan-dev/capstan/tools/storm/site"
)

// Patience is the time after which a request is late: what the server allows it, and ten
// seconds.
const Patience = site.RequestLimit + 10*time.Second

// Stage is a server with what its clients note.
type Stage struct {
	*site.Site
	Journal *record.Journal

	marks      atomic.Int64
	away       sync.RWMutex // held while the process starts again
	transports [2]*http.Transport
	followers  sync.WaitGroup
	fault      sync.Mutex
	alone      map[string]int // how often, under fault
	dumped     sync.Once
	tapes      map[string]*history.Watch // the last one of each kind, under the journal's lock
	until      uint64                    // the revision up to which they have shown everything
	dump       string
}

// New returns the stage on a server.
func New(s *site.Site) *Stage {
	return &Stage{Site: s, Journal: record.NewJournal(), transports: [2]*http.Transport{site.Transport(false), site.Transport(true)},
		tapes: make(map[string]*history.Watch), alone: make(map[string]int)}
}

// Mark is a new text, which tells a write from all others.
func (s *Stage) Mark() string { return fmt.Sprint("m", s.marks.Add(1)) }

// Close closes the connections of the clients.
func (s *Stage) Close() {
	for _, t := range s.transports {
		t.CloseIdleConnections()
	}
}

// Follow runs a watcher until it ends; Wait waits for all of them.
func (s *Stage) Follow(run func()) { s.followers.Go(run) }

// Wait waits until all watchers have ended.
func (s *Stage) Wait() { s.followers.Wait() }

// Broken reports whether a request was late: others would wait as long.
func (s *Stage) Broken() (is bool) {
	s.Journal.With(func(r *record.Record) { is = len(r.Late) > 0 })
	return is
}

// late notes a request that has not ended in its time. The goroutines are written down
// once.
func (s *Stage) late(what string, waited time.Duration) {
	s.dumped.Do(func() { s.dump = s.Dump(context.Background()) })
	s.Journal.With(func(r *record.Record) { r.Late = append(r.Late, record.Late{What: what, Waited: waited, Dump: s.dump}) })
}

// Probe notes that an answer at rest breaks a promise.
func (s *Stage) Probe(promise, format string, args ...any) {
	s.Journal.With(func(r *record.Record) {
		r.Probes = append(r.Probes, record.Probe{Promise: promise, Text: fmt.Sprintf(format, args...)})
	})
}
