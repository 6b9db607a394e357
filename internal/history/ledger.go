package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Change is a change known from answers.
type Change struct {
	Key      string
	Revision uint64
	Deleted  bool
	State    State  // after the change; of a deletion the final state
	Prev     *State // before it, nil when there was no object
	from     string // the first source, for messages
}

// Ledger is the union of all answers about changes, by revision.
//
// Invariants: changes are in order of revision, those of a key too; Prev is the state of
// the key's change before, so it is right unless a change of that key remained unknown.
type Ledger struct {
	changes []*Change
	keys    map[string][]*Change
	events  map[string][]Event // of all changes, by options
}

// NewLedger puts together the changes of a history. It reports answers that contradict
// each other.
func NewLedger(h *History) (*Ledger, []string) {
	b := builder{at: make(map[uint64]*Change)}
	for i := range h.Writes {
		w := &h.Writes[i]
		if w.State.Revision > 0 {
			b.add("the answer to a "+string(w.Op), w.State, w.Op == Delete)
		}
	}
	for _, l := range h.Lists {
		for _, s := range l.Items {
			b.add("a list at "+fmt.Sprint(l.Revision), s, false)
		}
	}
	for _, w := range h.Watches {
		for _, e := range w.Events {
			// A deletion that a selector shows may be an update.
			if e.Type == Added || e.Type == Modified || e.Type == Deleted && w.Selector == "" {
				b.add("watch "+w.Name, e.State, e.Type == Deleted)
			}
		}
	}
	l := &Ledger{keys: make(map[string][]*Change), events: make(map[string][]Event)}
	l.changes = slices.SortedFunc(maps.Values(b.at), func(a, b *Change) int { return cmp.Compare(a.Revision, b.Revision) })
	for _, c := range l.changes {
		if before := l.keys[c.Key]; len(before) > 0 && !before[len(before)-1].Deleted {
			c.Prev = &before[len(before)-1].State
		}
		l.keys[c.Key] = append(l.keys[c.Key], c)
	}
	return l, b.wrong
}

type builder struct {
	at    map[uint64]*Change
	wrong []string
}

// add notes an answer of one source about a revision, and compares it with earlier ones.
func (b *builder) add(from string, s State, deleted bool) {
	c := b.at[s.Revision]
	if c == nil {
		b.at[s.Revision] = &Change{Key: s.Key, Revision: s.Revision, Deleted: deleted, State: s, from: from}
		return
	}
	if what := differ(&c.State, &s); what != "" || c.Deleted != deleted {
		b.wrong = append(b.wrong, fmt.Sprintf("at revision %d %s told of %s (deleted: %t), %s of %s (deleted: %t): not the same %s",
			s.Revision, c.from, describe(&c.State), c.Deleted, from, describe(&s), deleted, what))
		return
	}
	if c.State.Digest == "" {
		c.State.Digest = s.Digest
	}
	if c.State.Fields == nil {
		c.State.Fields = s.Fields
	}
}

// differ names the difference of two states of one revision, "" for none.
func differ(a, b *State) string {
	switch {
	case a.Key != b.Key:
		return "object"
	case a.Mark != b.Mark:
		return "mark"
	case !maps.Equal(a.Labels, b.Labels):
		return "labels"
	case a.Digest != "" && b.Digest != "" && a.Digest != b.Digest:
		return "content"
	case a.Fields != nil && b.Fields != nil && !maps.Equal(a.Fields, b.Fields):
		return "fields"
	}
	return ""
}

func describe(s *State) string {
	return fmt.Sprintf("%s@%d (mark %q, labels %v, digest %s)", s.Key, s.Revision, s.Mark, s.Labels, s.Digest)
}

// At returns the change at a revision, nil when unknown.
func (l *Ledger) At(revision uint64) *Change {
	i, found := slices.BinarySearchFunc(l.changes, revision, func(c *Change, r uint64) int { return cmp.Compare(c.Revision, r) })
	if !found {
		return nil
	}
	return l.changes[i]
}

// latest is the last change of a key up to a revision, nil for none.
func latest(changes []*Change, at uint64) *Change {
	i, found := slices.BinarySearchFunc(changes, at, func(c *Change, r uint64) int { return cmp.Compare(c.Revision, r) })
	if found {
		i++
	}
	if i == 0 {
		return nil
	}
	return changes[i-1]
}

// State is the visible state with the options at a revision: keys with the revisions of
// their states.
func (l *Ledger) State(o *Options, at uint64) map[string]uint64 {
	state := make(map[string]uint64)
	for key, changes := range l.keys {
		if !o.covers(key) {
			continue
		}
		if c := latest(changes, at); c != nil && !c.Deleted && o.shows(&c.State) {
			state[key] = c.Revision
		}
	}
	return state
}

// Events are those that a watch with the options has to show for the changes with after <
// revision <= until.
func (l *Ledger) Events(o *Options, after, until uint64) []Event {
	name := o.String()
	all, known := l.events[name]
	if !known {
		for _, c := range l.changes {
			if e, ok := c.event(o); ok {
				all = append(all, e)
			}
		}
		l.events[name] = all
	}
	return between(all, after, until)
}

// between are the events with after < revision <= until. They are in order.
func between(events []Event, after, until uint64) []Event {
	above := func(revision uint64) int {
		i, _ := slices.BinarySearchFunc(events, revision, func(e Event, r uint64) int {
			if e.Revision <= r {
				return -1
			}
			return 1
		})
		return i
	}
	if until < after {
		return nil
	}
	return events[above(after):above(until)]
}

// event is the watch event of a change: none when neither the state before nor the one
// after matches the options.
func (c *Change) event(o *Options) (Event, bool) {
	if !o.covers(c.Key) {
		return Event{}, false
	}
	is, was := !c.Deleted && o.shows(&c.State), c.Prev != nil && o.shows(c.Prev)
	e := Event{State: c.State}
	switch {
	case is && was:
		e.Type = Modified
	case is:
		e.Type = Added
	case was && c.Deleted:
		e.Type = Deleted
	case was: // it left: shown in its last state, at the revision of the change
		e.Type, e.State = Deleted, *c.Prev
		e.Revision = c.Revision
	}
	return e, e.Type != ""
}
