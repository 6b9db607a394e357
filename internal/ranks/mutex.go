package ranks

import (
	"sync"

	"github.com/capstan-dev/capstan/internal/invariants"
)

// Mutex is a sync.Mutex with a rank.
type Mutex[R Rank] struct{ mu sync.Mutex }

// Lock implements sync.Locker.
func (m *Mutex[R]) Lock() {
	Enter[R]()
	m.mu.Lock()
}

// TryLock is that of sync.Mutex. It cannot wait, so it may be out of order.
func (m *Mutex[R]) TryLock() bool {
	ok := m.mu.TryLock()
	if ok && invariants.Enabled {
		held.add(placeOf[R]())
	}
	return ok
}

// Unlock implements sync.Locker.
func (m *Mutex[R]) Unlock() {
	m.mu.Unlock()
	Leave[R]()
}

// RWMutex is a sync.RWMutex with a rank.
type RWMutex[R Rank] struct{ mu sync.RWMutex }

// Lock locks it for writing.
func (m *RWMutex[R]) Lock() {
	Enter[R]()
	m.mu.Lock()
}

// Unlock ends a Lock.
func (m *RWMutex[R]) Unlock() {
	m.mu.Unlock()
	Leave[R]()
}

// RLock locks it for reading.
func (m *RWMutex[R]) RLock() {
	Enter[R]()
	m.mu.RLock()
}

// RUnlock ends an RLock.
func (m *RWMutex[R]) RUnlock() {
	m.mu.RUnlock()
	Leave[R]()
}

// Enter notes that the goroutine is about to take a lock of a rank that is not a Mutex.
func Enter[R Rank]() {
	if invariants.Enabled {
		n, several := placeOf[R](), severalOf[R]()
		held.check(n, several)
		held.add(n)
	}
}

// Leave notes that the goroutine has given back a lock of a rank.
func Leave[R Rank]() {
	if invariants.Enabled {
		held.remove(placeOf[R]())
	}
}

func placeOf[R Rank]() int {
	var r R
	n, _ := r.place()
	return n
}

func severalOf[R Rank]() bool {
	var r R
	_, several := r.place()
	return several
}
