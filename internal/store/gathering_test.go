package store

import (
	"testing"
	"time"
)

// Commits gather for as long as a sync takes, within bounds, and only while others wait for a sync too.
func TestGathering(t *testing.T) {
	for _, c := range []struct {
		name    string
		syncing int32
		sync    time.Duration
		want    time.Duration
	}{
		{"a single writer", 1, time.Millisecond, 0},
		{"two writers", 2, time.Millisecond, time.Millisecond},
		{"a fast disk", 2, time.Microsecond, leastGathering},
		{"a slow disk", 9, time.Second, mostGathering},
		{"no sync yet", 2, 0, leastGathering},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := &Engine{disk: &disk{}}
			e.syncing.Store(c.syncing)
			for range 100 {
				e.disk.logSync.note(c.sync)
			}
			// The average of whole nanoseconds stays a little below.
			if got := e.gathering(); got > c.want || got < c.want*99/100 {
				t.Errorf("commits gather for %v, want %v", got, c.want)
			}
		})
	}
}

// The log's syncs are timed.
func TestSyncsOfTheLogAreTimed(t *testing.T) {
	e := openMem(t)
	put(t, e, "a/b", object(100))
	if e.disk.logSync.mean() <= 0 {
		t.Error("the sync of a write was not timed")
	}
}
