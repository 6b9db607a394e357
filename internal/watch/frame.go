package watch

import (
	"errors"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// FrameKey identifies an encoding of an event: the event type that a watcher sees
// (selectors can turn a change into ADDED or DELETED), and the representation that it
// requested.
type FrameKey struct {
	Type string
	Form string
}

// frames holds the encodings made so far. There are as many as distinct keys among the
// watchers, usually one, so a list is quick to search; it only grows, so that a search
// needs no lock.
type frames struct {
	made atomic.Pointer[frame]
	mu   ranks.Mutex[ranks.Derived] // held while a frame is made, unless that may wait
	slow map[FrameKey]*slowFrame
}

// slowFrame is a frame in the making, for FrameApart.
type slowFrame struct {
	done  chan struct{} // closed when the others are set
	bytes []byte
	err   error
}

type frame struct {
	key   FrameKey
	bytes []byte
	err   error
	next  *frame
}

func (f *frames) find(key FrameKey) *frame {
	for m := f.made.Load(); m != nil; m = m.next {
		if m.key == key {
			return m
		}
	}
	return nil
}

// Frame returns the event's bytes for a key. The first watcher that asks calls make; the
// others share the result and must not change it.
func (e *Event) Frame(key FrameKey, make func() ([]byte, error)) ([]byte, error) {
	if m := e.frames.find(key); m != nil {
		return m.bytes, m.err
	}
	e.frames.mu.Lock()
	defer e.frames.mu.Unlock()
	m := e.frames.find(key)
	if m == nil {
		m = &frame{key: key, next: e.frames.made.Load()}
		m.bytes, m.err = make()
		e.frames.made.Store(m)
	}
	return m.bytes, m.err
}

// FrameApart is Frame for a make that may wait, for a bounded time: watchers with other
// keys go on meanwhile. An error is shared by those that wait for it; the next watcher
// tries again.
func (e *Event) FrameApart(key FrameKey, make func() ([]byte, error)) ([]byte, error) {
	f := &e.frames
	if m := f.find(key); m != nil {
		return m.bytes, m.err
	}
	f.mu.Lock()
	if m := f.find(key); m != nil {
		f.mu.Unlock()
		return m.bytes, m.err
	}
	if s := f.slow[key]; s != nil {
		f.mu.Unlock()
		<-s.done
		return s.bytes, s.err
	}
	s := f.begin(key)
	f.mu.Unlock()
	defer f.end(key, s)
	s.bytes, s.err = make()
	return s.bytes, s.err
}

// begin notes a frame in the making; its error stays if making it panics.
func (f *frames) begin(key FrameKey) *slowFrame {
	s := &slowFrame{done: make(chan struct{}), err: errNotMade}
	if f.slow == nil {
		f.slow = map[FrameKey]*slowFrame{}
	}
	f.slow[key] = s
	return s
}

func (f *frames) end(key FrameKey, s *slowFrame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.err == nil {
		f.made.Store(&frame{key: key, bytes: s.bytes, next: f.made.Load()})
	}
	delete(f.slow, key)
	close(s.done)
}

var errNotMade = errors.New("the frame of an event was not made")
