package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// atomic replays the events of watches and the items of lists and compares the results
// with the ledger's states.
func atomic(e *evidence) []string {
	var wrong []string
	for _, l := range e.Lists {
		state, twice := l.state()
		if twice != "" {
			wrong = append(wrong, fmt.Sprintf("a list of %s at %d has %s twice", &l.Options, l.Revision, twice))
		}
		if text := compare(e.ledger.State(&l.Options, l.Revision), state); text != "" {
			wrong = append(wrong, fmt.Sprintf("a list of %s at %d: %s", &l.Options, l.Revision, text))
		}
	}
	for _, w := range e.Watches {
		b := e.begins[w]
		var state map[string]uint64
		switch {
		case w.From == 0 && b.known:
			state = w.initial(b)
		case w.From == 0 && w.Cut && b.initial == len(w.Events):
			continue // only some of the initial events
		case w.From == 0:
			wrong = append(wrong, fmt.Sprintf("%s: the initial events are not the state at any revision from %d on; at %d: %s; it began with %s",
				w.name(), w.NotBefore, b.at, compare(e.ledger.State(&w.Options, b.at), w.initial(b)), w.head(b.skip+3)))
			continue
		case w.Base != nil:
			state, _ = w.Base.state()
		default:
			continue
		}
		e.changes(w, func(ev *Event) {
			if ev.Type == Deleted {
				delete(state, ev.Key)
			} else {
				state[ev.Key] = ev.Revision
			}
		})
		until := e.until(w)
		if text := compare(e.ledger.State(&w.Options, until), state); text != "" {
			wrong = append(wrong, fmt.Sprintf("%s, replayed up to %d: %s", w.name(), until, text))
		}
	}
	return wrong
}

// state is the content of a list, and a key that it holds twice.
func (l *List) state() (state map[string]uint64, twice string) {
	state = make(map[string]uint64)
	for _, s := range l.Items {
		if state[s.Key] > 0 {
			twice = s.Key
		}
		state[s.Key] = s.Revision
	}
	return state, twice
}

// initial is the state that the initial events of a watch show.
func (w *Watch) initial(b begin) map[string]uint64 {
	state := make(map[string]uint64)
	for _, ev := range w.Events[:b.initial] {
		state[ev.Key] = ev.Revision
	}
	return state
}

// head names the first n events of a watch.
func (w *Watch) head(n int) string {
	var names []string
	for _, ev := range w.Events[:min(n, len(w.Events))] {
		names = append(names, fmt.Sprintf("%s %s@%d", ev.Type, ev.Key, ev.Revision))
	}
	return strings.Join(names, ", ")
}

// compare describes the differences of a state, "" for none.
func compare(want, got map[string]uint64) string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			lines = append(lines, fmt.Sprintf("%s is at %d, want %d", key, got[key], want[key]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if want[key] == 0 {
			lines = append(lines, fmt.Sprintf("%s is at %d, want none", key, got[key]))
		}
	}
	if len(lines) > 4 {
		lines = append(lines[:4], fmt.Sprintf("and %d more", len(lines)-4))
	}
	return strings.Join(lines, ", ")
}

// resumable compares watches with others of the same options that have shown the revision
// they start from.
func resumable(e *evidence) []string {
	type position struct {
		options string
		at      uint64
	}
	shown := make(map[position][]*Watch) // by the position that watches start from
	for _, w := range e.Watches {
		if w.From > 0 {
			shown[position{w.Options.String(), w.From}] = nil
		}
	}
	for _, w := range e.Watches {
		p := position{options: w.Options.String()}
		for i := e.begins[w].initial; i < len(w.Events); i++ {
			p.at = w.Events[i].Revision
			if watches, wanted := shown[p]; wanted && !slices.Contains(watches, w) {
				shown[p] = append(watches, w)
			}
		}
	}
	var wrong []string
	for _, w := range e.Watches {
		if w.From == 0 {
			continue
		}
		for _, other := range shown[position{w.Options.String(), w.From}] {
			if other == w {
				continue
			}
			until := min(e.until(w), e.until(other))
			if text := differAfter(e.span(other, w.From, until), e.span(w, w.From, until)); text != "" {
				wrong = append(wrong, fmt.Sprintf("%s and %s do not show the same from %d to %d: %s", other.name(), w.name(), w.From, until, text))
			}
		}
	}
	return wrong
}

// span returns the changes that a watch has shown with after < revision <= until.
func (e *evidence) span(w *Watch, after, until uint64) []*Event {
	events := w.Events[e.begins[w].skip:]
	if slices.IsSortedFunc(events, func(a, b Event) int { return cmp.Compare(a.Revision, b.Revision) }) {
		events = between(events, after, until)
	}
	var changes []*Event
	for i := range events {
		if ev := &events[i]; ev.Type != Bookmark && ev.Revision > after && ev.Revision <= until {
			changes = append(changes, ev)
		}
	}
	return changes
}

// differAfter describes the first difference of two watches, "" for none.
func differAfter(a, b []*Event) string {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(b):
			return "only the first has " + a[i].shown()
		case i >= len(a):
			return "only the second has " + b[i].shown()
		case a[i].Type != b[i].Type || a[i].Revision != b[i].Revision || differ(&a[i].State, &b[i].State) != "":
			return a[i].shown() + " and " + b[i].shown()
		}
	}
	return ""
}
