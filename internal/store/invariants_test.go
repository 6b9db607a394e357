package store

import (
	"context"
	"testing"

	"github.com/capstan-dev/capstan/internal/invariants"
)

// A build with the tag invariants finds broken promises, a build without does not look
// for them.
func TestInvariants(t *testing.T) {
	ctx := context.Background()
	for name, breach := range map[string]func(e *Engine){
		"keys in a scan out of order": func(*Engine) {
			var o scanOrder
			for _, key := range []string{"b", "a"} {
				if invariants.Enabled {
					o.check(version{key: []byte(key), revision: 1}, 1)
				}
			}
		},
		"revision left out": func(e *Engine) {
			e.publisher.mu.Lock()
			defer e.publisher.mu.Unlock()
			if invariants.Enabled {
				e.publisher.checkGroup([]*pending{{change: &Change{Entry: Entry{Revision: e.Current() + 2}}}})
			}
		},
		"entry changed": func(e *Engine) {
			entry, err := e.Get(ctx, "a")
			if err != nil {
				t.Fatal(err)
			}
			entry.Body[0]++
			defer func() { entry.Body[0]-- }()
			if invariants.Enabled {
				e.given.check()
			}
		},
		"bytes of a visit kept": func(e *Engine) {
			r, err := e.At(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var kept []byte
			if err := r.Scan(ctx, "", "", func(e *Entry) bool { kept = e.Body; return true }); err != nil {
				t.Fatal(err)
			}
			if invariants.Enabled && kept[0] == 0xdb {
				panic("found")
			}
		},
		"gate left twice": func(e *Engine) {
			g := newGate()
			g.leave()
		},
	} {
		e := openMem(t)
		put(t, e, "a", object(100))
		found := func() (found bool) {
			defer func() { found = recover() != nil }()
			breach(e)
			return false
		}()
		if found != invariants.Enabled {
			t.Errorf("%s: found %v, the checks are on: %v", name, found, invariants.Enabled)
		}
	}
}
