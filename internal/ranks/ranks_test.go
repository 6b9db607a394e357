package ranks

import (
	"testing"

	"github.com/capstan-dev/capstan/internal/invariants"
)

// Locks are taken from the outermost rank inwards, in builds that check it.
func TestRanks(t *testing.T) {
	var leaf, other Mutex[Leaf]
	var commit Mutex[Commit]
	var follower RWMutex[Follower]
	panics := func(f func()) (out bool) {
		defer func() { out = recover() != nil }()
		f()
		return false
	}
	inside := false
	inwards := func() {
		Enter[Key]()
		Enter[Key]()
		commit.Lock()
		follower.RLock()
		leaf.Lock()
		inside = true
		leaf.Unlock()
		follower.RUnlock()
		commit.Unlock()
		Leave[Key]()
		Leave[Key]()
	}
	if panics(inwards) || !inside {
		t.Error("locks in their order are refused")
	}
	if !invariants.Enabled {
		return
	}
	for name, under := range map[string]func(){
		"an outer lock": func() { commit.Lock() }, "a lock of the same rank": func() { other.Lock() }, "an outer one for reading": func() { follower.RLock() },
	} {
		leaf.Lock()
		if !panics(under) {
			t.Errorf("%s is taken under a leaf", name)
		}
		leaf.Unlock()
	}
	done := make(chan bool)
	leaf.Lock()
	go func() { done <- panics(leaf.Unlock) }()
	if !<-done {
		t.Error("another goroutine gives a lock back")
	}
}
