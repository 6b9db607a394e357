package watch

import (
	"sort"

	"github.com/capstan-dev/capstan/internal/store"
)

// ring is the newest changes of one resource. It is guarded by Hub.mu.
//
// Example with room for three events: after revisions 4, 7 and 9 the ring is
// floor=3 [4 7 9]; revision 12 evicts 4 and leaves floor=4 [7 9 12]. A cursor
// at 4 or later reads from the ring, one at 3 reads the log.
type ring struct {
	users  int    // number of cursors
	floor  uint64 // all changes above it are in events
	events []*Event
	bytes  int
	fresh  int // changes of the batch that is being published
	pace   pace
	ended  bool   // the resource is not served any more: nothing is appended
	end    uint64 // the revision of the end
	gap    uint64 // the revision of the gap that ended it; 0 for none
}

// limit is the revision up to which cursors may see, of a hub with that newest revision.
func (r *ring) limit(latest uint64) uint64 {
	if r.ended {
		return r.end
	}
	return r.pace.limit(latest)
}

func (r *ring) append(e *Event, cfg Config) {
	r.events = append(r.events, e)
	r.bytes += e.size()
	drop := 0
	for len(r.events)-drop > cfg.RingEvents || (r.bytes > cfg.RingBytes && len(r.events)-drop > 1) {
		r.bytes -= r.events[drop].size()
		r.floor = r.events[drop].Entry.Revision
		r.events[drop] = nil
		drop++
	}
	r.events = r.events[drop:]
}

// after returns the events with a revision above rev.
func (r *ring) after(rev uint64) []*Event {
	i := sort.Search(len(r.events), func(i int) bool { return r.events[i].Entry.Revision > rev })
	return r.events[i:]
}

// Event is a change on its way to watchers. All of them share it and the frames made from
// it.
type Event struct {
	store.Change
	frames frames
}

// size is roughly the memory that the event holds: both states, and a frame.
func (e *Event) size() int { return 2*len(e.Entry.Body) + len(e.Prev.Body) + 256 }
