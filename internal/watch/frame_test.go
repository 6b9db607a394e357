package watch

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
)

func TestFramesAreMadeOnce(t *testing.T) {
	e := event(1, 1)
	var made atomic.Int32
	var wg sync.WaitGroup
	keys := []FrameKey{{"ADDED", "json"}, {"MODIFIED", "json"}, {"ADDED", "binary"}}
	frames := make([][]byte, 300)
	for i := range frames {
		wg.Go(func() {
			key := keys[i%len(keys)]
			b, err := e.Frame(key, func() ([]byte, error) {
				made.Add(1)
				return []byte(key.Type + key.Form), nil
			})
			if err != nil || string(b) != key.Type+key.Form {
				t.Errorf("%v gave %q, %v", key, b, err)
			}
			frames[i] = b
		})
	}
	wg.Wait()
	if n := made.Load(); n != int32(len(keys)) {
		t.Errorf("%d frames were made for %d keys", n, len(keys))
	}
	for i, b := range frames {
		if &b[0] != &frames[i%len(keys)][0] {
			t.Fatalf("watcher %d has a copy of its own", i)
		}
	}
}

// An event that failed to encode fails for every other watcher too.
func TestFrameFailsForAll(t *testing.T) {
	e, broken, made := event(1, 1), errors.New("broken"), 0
	for range 3 {
		_, err := e.Frame(FrameKey{Type: "ADDED"}, func() ([]byte, error) {
			made++
			return nil, broken
		})
		if !errors.Is(err, broken) {
			t.Errorf("got %v", err)
		}
	}
	if made != 1 {
		t.Errorf("it was tried %d times", made)
	}
}
