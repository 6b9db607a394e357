package watch

import (
	"context"
	"fmt"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

// BenchmarkFanOut measures one event for all caught-up watchers of a resource: a look
// into the ring and the shared frame. The store does not take part.
func BenchmarkFanOut(b *testing.B) {
	for _, watchers := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("watchers=%d", watchers), func(b *testing.B) {
			h := newHub(b, newStore(b), Config{})
			cursors := make([]*Cursor, watchers)
			for i := range cursors {
				cursors[i] = h.Watch("core/pods/", 0)
			}
			frame := make([]byte, 1000)
			b.ReportAllocs()
			for n := uint64(1); b.Loop(); n++ {
				h.publish(batch(&store.Change{Op: store.OpCreate, Entry: store.Entry{Key: "core/pods/a/x", Revision: n}}))
				h.due(cursors[0].ring) // ends the pause: held events are shown at once
				for _, c := range cursors {
					events, _, err := c.Poll(context.Background())
					if err != nil || len(events) != 1 {
						b.Fatalf("%d events, error %v", len(events), err)
					}
					if _, err := events[0].Frame(FrameKey{Type: "ADDED"}, func() ([]byte, error) { return frame, nil }); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// BenchmarkResume measures an event that is read from the log.
func BenchmarkResume(b *testing.B) {
	s := newStore(b)
	const events = 1000
	for range events {
		write(b, s, "core/pods/a/x")
	}
	h := newHub(b, s, Config{})
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for c := h.Watch("core/pods/", 0); c.rev < events; {
			got, _, err := c.Poll(context.Background())
			if err != nil {
				b.Fatal(err)
			}
			n += len(got)
		}
		if n != events {
			b.Fatalf("%d events", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
}
