package api

import (
	"sync"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Made are values that are made when they are first used, and dropped together when
// nothing has used them for a while. It is safe for concurrent use.
type Made struct {
	some, used atomic.Bool
	mu         ranks.Mutex[ranks.Made] // held while one is made or dropped
	drops      []func()
}

// Make returns a function that returns one of the values, which is made anew after it was
// dropped. In nil the values stay.
func Make[T any](m *Made, make func() T) func() T {
	if m == nil {
		return sync.OnceValue(make)
	}
	var have atomic.Pointer[T]
	var one ranks.Mutex[ranks.Made] // make may use another of the values
	m.mu.Lock()
	defer m.mu.Unlock()
	m.drops = append(m.drops, func() { have.Store(nil) })
	return func() T {
		if !m.used.Load() { // nearly never: so that processors share the value
			m.used.Store(true)
			m.some.Store(true)
		}
		if v := have.Load(); v != nil {
			return *v
		}
		one.Lock()
		defer one.Unlock()
		if v := have.Load(); v != nil {
			return *v
		}
		v := make()
		have.Store(&v)
		return v
	}
}

// DropUnused drops the values if nothing has used one since the last call. Whoever has
// one keeps it.
func (m *Made) DropUnused() {
	if m.used.Swap(false) || !m.some.Swap(false) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, drop := range m.drops {
		drop()
	}
}
