package watch

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

func event(revision uint64, bodyBytes int) *Event {
	return &Event{Change: store.Change{Op: store.OpUpdate, Entry: store.Entry{Revision: revision,
		Value: store.Value{Body: bytes.Repeat([]byte("x"), bodyBytes)}}}}
}

func (r *ring) String() string {
	text := fmt.Sprintf("floor=%d [", r.floor)
	for i, e := range r.events {
		if i > 0 {
			text += " "
		}
		text += fmt.Sprint(e.Entry.Revision)
	}
	return text + "]"
}

func TestRingEvicts(t *testing.T) {
	small := event(0, 0).size()
	for _, test := range []struct {
		name string
		cfg  Config
		add  []*Event
		want string
	}{
		{"the worked example, full", Config{RingEvents: 3, RingBytes: 1 << 20}, []*Event{event(4, 1), event(7, 1), event(9, 1)}, "floor=3 [4 7 9]"},
		{"the worked example", Config{RingEvents: 3, RingBytes: 1 << 20}, []*Event{event(4, 1), event(7, 1), event(9, 1), event(12, 1)}, "floor=4 [7 9 12]"},
		{"room for one", Config{RingEvents: 1, RingBytes: 1 << 20}, []*Event{event(4, 1), event(7, 1)}, "floor=4 [7]"},
		{"bytes", Config{RingEvents: 100, RingBytes: 2*small + 40}, []*Event{event(4, 10), event(7, 10), event(9, 10)}, "floor=4 [7 9]"},
		{"one large event pushes all others out", Config{RingEvents: 100, RingBytes: 4 * small}, []*Event{event(4, 1), event(7, 1), event(9, 5*small)}, "floor=7 [9]"},
		{"and goes itself when the next comes", Config{RingEvents: 100, RingBytes: 4 * small}, []*Event{event(4, 5*small), event(7, 1)}, "floor=4 [7]"},
	} {
		r := &ring{floor: 3}
		for _, e := range test.add {
			r.append(e, test.cfg)
			kept := 0
			for _, e := range r.events {
				kept += e.size()
			}
			if kept != r.bytes {
				t.Errorf("%s: the ring counts %d bytes and holds %d", test.name, r.bytes, kept)
			}
		}
		if r.String() != test.want {
			t.Errorf("%s: %v, want %s", test.name, r, test.want)
		}
	}
}

// A ring that has long been full holds only the memory of its events.
func TestRingStaysSmall(t *testing.T) {
	r := &ring{}
	for i := range uint64(10000) {
		r.append(event(i+1, 0), Config{RingEvents: 10, RingBytes: 1 << 20})
		if cap(r.events) > 64 {
			t.Fatalf("room for %d events after %d", cap(r.events), i+1)
		}
	}
	if len(r.events) != 10 || r.floor != 9990 {
		t.Errorf("%v", r)
	}
}

func TestRingAfter(t *testing.T) {
	r := &ring{floor: 3, events: []*Event{event(4, 0), event(7, 0), event(9, 0)}}
	for after, want := range map[uint64]int{3: 3, 4: 2, 5: 2, 6: 2, 7: 1, 8: 1, 9: 0, 100: 0} {
		if got := len(r.after(after)); got != want {
			t.Errorf("after %d there are %d events, want %d", after, got, want)
		}
	}
}
