package stage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// retry is the pause before a watch that was lost is opened again.
const retry = 20 * time.Millisecond

// Record watches all objects of the built-in kinds from now on, until the context ends.
// The watches go on where they were when the server has been away.
func (s *Stage) Record(ctx context.Context) error {
	for i, kind := range Builtin {
		c := s.Client(1000 + i)
		w := Watching{Kind: kind, Into: &s.Journal.Recorder, Each: s.tape}
		list, items := c.List(w, 0)
		if list == nil {
			return errors.New("no list of " + kind.Resource)
		}
		for _, o := range items {
			s.tape(record.Event{Type: history.Added, Initial: true, Object: o})
		}
		w.Base, w.From = list, list.Revision
		s.Follow(func() { c.resume(ctx, w) })
	}
	return nil
}

func (s *Stage) tape(e record.Event) {
	s.Journal.With(func(r *record.Record) { r.Tape = append(r.Tape, e) })
}

// resume reads a watch and those that continue it, until the context ends or the server
// refuses to go on.
func (c *Client) resume(ctx context.Context, w Watching) {
	for ctx.Err() == nil {
		seen, err := c.Watch(ctx, w)
		c.Journal.With(func(*record.Record) { c.tapes[w.Kind.Resource] = seen })
		if errors.Is(err, errExpired) && ctx.Err() == nil {
			c.Probe("complete", "the watch of %s expired at %d: no revision is as old as the history is kept", w.Kind.Resource, w.From)
			return
		}
		if seen != nil {
			if n := len(seen.Events); n > 0 {
				w.From = seen.Events[n-1].Revision
				w.Base, w.Continues = nil, seen
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(retry):
		}
	}
}

// Result is the record, once all watches have ended.
func (s *Stage) Result() *record.Record {
	r := s.Journal.Record()
	for _, w := range s.tapes {
		if w != nil {
			w.Until = s.until
		}
	}
	Sort(r.Tape)
	if s.Shared() {
		r.Apart()
	}
	return r
}

// Finish waits until the recording watches have shown everything up to the newest
// objects, so that a change that they lack is one that was lost.
func (s *Stage) Finish(limit time.Duration) {
	c := s.Client(1999)
	want := make(map[string]uint64) // by key
	for _, kind := range Builtin {
		w := Watching{Kind: kind, Into: new(history.Recorder)}
		list, items := c.List(w, 0)
		if list != nil && (s.until == 0 || list.Revision < s.until) {
			s.until = list.Revision
		}
		s.Rest(kind.Resource, items)
		for _, o := range items {
			want[o.Key()] = o.Revision
		}
	}
	for end := time.Now().Add(limit); time.Now().Before(end) && !s.shown(want); {
		time.Sleep(retry)
	}
}

// Rest notes the objects of a resource at rest.
func (s *Stage) Rest(resource string, items []*record.Object) {
	s.Journal.With(func(r *record.Record) {
		if r.Rest == nil {
			r.Rest = make(map[string][]*record.Object)
		}
		r.Rest[resource] = items
	})
}

func (s *Stage) shown(want map[string]uint64) bool {
	missing := len(want)
	s.Journal.With(func(r *record.Record) {
		last := make(map[string]uint64)
		for _, e := range r.Tape {
			last[e.Key()] = max(last[e.Key()], e.Revision)
		}
		for key, revision := range want {
			if last[key] >= revision {
				missing--
			}
		}
	})
	return missing == 0
}

// Sort puts the tape into the order of the revisions.
func Sort(tape []record.Event) {
	slices.SortStableFunc(tape, func(a, b record.Event) int { return cmp.Compare(a.Revision, b.Revision) })
}

// Chain reads a watch and some watches that continue it, each from the last event of the
// one before.
func (c *Client) Chain(ctx context.Context, w Watching, times int) {
	for range times {
		seen, err := c.Watch(ctx, w)
		if !errors.Is(err, errLeft) {
			return
		}
		w.From = seen.Events[len(seen.Events)-1].Revision
		w.Base, w.Continues = nil, seen
	}
}
