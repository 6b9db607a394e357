package promise

import (
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Finalizer is the one that clients of a storm set and take away.
const Finalizer = "storm.test/wait"

func held(o *record.Object) bool { return slices.Contains(o.Meta.Finalizers, Finalizer) }

// finalized looks for objects that were gone with the finalizer of a client: no request has
// taken it away from their last state.
func finalized(r *record.Record) (wrong []string) {
	freed, unsure := make(map[string]uint64), make(map[string]bool) // by uid, by key
	for i := range r.Calls {
		switch c := &r.Calls[i]; {
		case c.Verb == "patch" && c.Code == 0:
			unsure[c.Key()] = true
		case c.Verb == "patch" && c.Done() && c.Object != nil && !held(c.Object):
			freed[c.Object.Meta.UID] = max(freed[c.Object.Meta.UID], c.Object.Revision)
		}
	}
	last := make(map[string]*record.Object) // by uid
	for _, e := range r.Tape {
		uid := e.Meta.UID
		before := last[uid]
		last[uid] = e.Object
		if e.Type == history.Deleted && before != nil && held(before) && freed[uid] < before.Revision && !unsure[e.Key()] {
			wrong = append(wrong, fmt.Sprintf("%s was gone at %d, %s@%d had the finalizer %s, which nobody took away", e.Key(), e.Revision, before.Meta.Name,
				before.Revision, Finalizer))
		}
	}
	return wrong
}
