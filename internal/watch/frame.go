package watch

import (
	"sync"
	"sync/atomic"
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
	mu   sync.Mutex // held while a frame is made
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
