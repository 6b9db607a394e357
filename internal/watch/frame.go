package watch

import "sync"

// FrameKey says which bytes of an event are meant: the event type a watcher
// sees (selectors can turn a change into an ADDED or a DELETED), and the
// representation it asked for.
type FrameKey struct {
	Type string
	Form string
}

// frames holds the encodings made so far. There are as many as distinct keys
// among the watchers, usually one.
type frames struct {
	mu   sync.Mutex
	made []frame
}

type frame struct {
	key   FrameKey
	bytes []byte
	err   error
}

// Frame returns the event's bytes for a key, calling make for the first watcher
// that asks; the others share the result and must not change it.
func (e *Event) Frame(key FrameKey, make func() ([]byte, error)) ([]byte, error) {
	e.frames.mu.Lock()
	defer e.frames.mu.Unlock()
	for i := range e.frames.made {
		if e.frames.made[i].key == key {
			return e.frames.made[i].bytes, e.frames.made[i].err
		}
	}
	b, err := make()
	e.frames.made = append(e.frames.made, frame{key, b, err})
	return b, err
}
