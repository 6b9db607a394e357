package promise

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// order relates the times of calls to the one order of all changes, so that a call can be
// judged by the objects that were there while it was decided.
type order struct {
	events map[string][]record.Event // by key
	known  []moment                  // by time: the newest revision that an answer had shown
	coming []moment                  // from the last: the oldest revision that was made later
}

type moment struct {
	at       time.Duration
	revision uint64
}

func newOrder(r *record.Record) *order {
	o := &order{events: make(map[string][]record.Event)}
	for _, e := range r.Tape {
		o.events[e.Key()] = append(o.events[e.Key()], e)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if c.Object == nil {
			continue
		}
		o.known = append(o.known, moment{c.Ended, c.Object.Revision})
		if made := c.Verb == "create" && c.Sub == "" && c.Done(); (made || c.Mark != "" && mark(c.Object) == c.Mark) && o.wrote(c) { // else it may be an older state
			o.coming = append(o.coming, moment{c.Began, c.Object.Revision})
		}
	}
	o.know()
	var deleted []moment
	for i := range r.Calls {
		if c := &r.Calls[i]; c.Verb == "delete" && c.Done() && c.Object == nil {
			deleted = append(deleted, moment{c.Ended, o.deleted(c)})
		}
	}
	o.known = append(o.known, deleted...)
	o.know()
	slices.SortFunc(o.coming, func(a, b moment) int { return cmp.Compare(b.at, a.at) })
	for i := 1; i < len(o.coming); i++ {
		o.coming[i].revision = min(o.coming[i].revision, o.coming[i-1].revision)
	}
	return o
}

// wrote reports whether the answer of a call has the revision of its own change. One that
// removes the last finalizer of an object ends it, and has the revision before.
func (o *order) wrote(c *record.Call) bool {
	return slices.ContainsFunc(o.events[c.Key()], func(e record.Event) bool {
		return e.Revision == c.Object.Revision && e.Type != history.Deleted && mark(e.Object) == mark(c.Object)
	})
}

// know puts the known revisions into the order of time.
func (o *order) know() {
	slices.SortFunc(o.known, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(o.known); i++ {
		o.known[i].revision = max(o.known[i].revision, o.known[i-1].revision)
	}
}

// deleted is a revision that was there when a deletion was acknowledged: that of the first
// end of the object that may have been this one.
func (o *order) deleted(c *record.Call) uint64 {
	began := o.before(c.Began)
	for _, e := range o.events[c.Key()] {
		if e.Type == history.Deleted && e.Revision > began {
			return e.Revision
		}
	}
	return began
}

// before is a revision that was there at a time.
func (o *order) before(t time.Duration) uint64 {
	if n, _ := slices.BinarySearchFunc(o.known, t, func(m moment, t time.Duration) int { return cmp.Compare(m.at, t) }); n > 0 {
		return o.known[n-1].revision
	}
	return 0
}

// after is the newest revision that may have been there at a time.
func (o *order) after(t time.Duration) uint64 {
	if n, _ := slices.BinarySearchFunc(o.coming, t, func(m moment, t time.Duration) int { return cmp.Compare(t, m.at) }); n > 0 {
		return o.coming[n-1].revision - 1
	}
	return math.MaxUint64
}

// states are those of an object from a revision to another one; nil is its absence.
func (o *order) states(key string, from, to uint64) []*record.Object {
	all := []*record.Object{nil}
	for _, e := range o.events[key] {
		now := e.Object
		if e.Type == history.Deleted {
			now = nil
		}
		switch {
		case e.Revision <= from:
			all[0] = now
		case e.Revision <= to:
			all = append(all, now)
		}
	}
	return all
}

// written are the states of some objects while an acknowledged write was decided, nil when it changed
// nothing.
func (o *order) written(c *record.Call, keys ...string) (all [][]*record.Object) {
	if c.Object == nil || c.Mark == "" || mark(c.Object) != c.Mark {
		return nil
	}
	for _, key := range keys {
		all = append(all, o.states(key, o.before(c.Began), c.Object.Revision))
	}
	return all
}

// answered are the states of some objects while any call was decided.
func (o *order) answered(c *record.Call, keys ...string) (all [][]*record.Object) {
	for _, key := range keys {
		all = append(all, o.states(key, o.before(c.Began), o.after(c.Ended)))
	}
	return all
}

// every and some look at each choice of one state of each object: objects change one after
// the other, so that not all choices were there at one time.
func every(states [][]*record.Object, is func([]*record.Object) bool) bool {
	return !some(states, func(chosen []*record.Object) bool { return !is(chosen) })
}

func some(states [][]*record.Object, is func([]*record.Object) bool) bool {
	chosen := make([]*record.Object, len(states))
	var choose func(n int) bool
	choose = func(n int) bool {
		if n == len(states) {
			return is(chosen)
		}
		return slices.ContainsFunc(states[n], func(o *record.Object) bool {
			chosen[n] = o
			return choose(n + 1)
		})
	}
	return choose(0)
}
