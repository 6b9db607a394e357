package stage

import (
	"context"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/record"
)

// mostAlone bounds the actions of each kind on the process in one storm: they take time
// from the clients.
const mostAlone = 8

// Alone does something to the process, one thing at a time and not more often than is
// useful.
func (s *Stage) Alone(kind string, do func()) {
	if !s.fault.TryLock() {
		return
	}
	defer s.fault.Unlock()
	if s.alone[kind]++; s.alone[kind] <= mostAlone {
		do()
	}
}

// Restart ends a process and starts it again. A bad end, and a start that fails, are
// noted.
func (s *Stage) Restart(ctx context.Context, end func() error) {
	s.Journal.With(func(r *record.Record) { r.Restarted = true })
	if err := end(); err != nil {
		s.Probe("stops", "%v", err)
	}
	if !s.Shared() { // else others answer
		s.away.Lock()
		defer s.away.Unlock()
	}
	if err := s.Launch(ctx); err != nil && ctx.Err() == nil {
		s.Probe("starts", "%v", err)
	}
}

// HangMember lets a member of the etcd stand still.
func (s *Stage) HangMember(d time.Duration) {
	from := s.Journal.Now()
	s.Hang(d)
	span := record.Span{From: from, Until: s.Journal.Now()}
	s.Journal.With(func(r *record.Record) { r.Hangs = append(r.Hangs, span) })
}

// Present waits while there is no process: a step of a client that nobody answers is wasted.
func (s *Stage) Present() {
	s.away.RLock()
	defer s.away.RUnlock()
}
