package history

import "fmt"

// name names a watch in messages.
func (w *Watch) name() string {
	return fmt.Sprintf("watch %s of %s from %d", w.Name, &w.Options, w.From)
}

// shown names an event in messages.
func (e *Event) shown() string { return e.Type + " " + describe(&e.State) }

// change identifies the change that an event shows.
type change struct {
	key      string
	revision uint64
}

func (e *Event) change() change { return change{e.Key, e.Revision} }

// changes calls f for the events after the initial ones that are not bookmarks.
func (e *evidence) changes(w *Watch, f func(*Event)) {
	for i := range w.Events[e.begins[w].skip:] {
		if ev := &w.Events[e.begins[w].skip+i]; ev.Type != Bookmark {
			f(ev)
		}
	}
}

func ordered(e *evidence) []string {
	var wrong []string
	for _, w := range e.Watches {
		b := e.begins[w]
		last := b.at
		for _, ev := range w.Events[:b.initial] {
			last = max(last, ev.Revision)
			if ev.Type != Added {
				wrong = append(wrong, fmt.Sprintf("%s: %s among the initial events", w.name(), ev.shown()))
			}
		}
		e.changes(w, func(ev *Event) {
			if ev.Revision <= last {
				wrong = append(wrong, fmt.Sprintf("%s: %s comes after revision %d", w.name(), ev.shown(), last))
			}
			last = max(last, ev.Revision)
		})
	}
	return wrong
}

func unique(e *evidence) []string {
	var wrong []string
	for _, w := range e.Watches {
		seen := make(map[change]*Watch)
		if before := w.Continues; before != nil && w.From > 0 {
			for i := range before.Events {
				if ev := &before.Events[i]; ev.Type != Bookmark {
					seen[ev.change()] = before
				}
			}
		}
		for i := range w.Events {
			ev := &w.Events[i]
			if ev.Type == Bookmark {
				continue
			}
			if first := seen[ev.change()]; first != nil {
				wrong = append(wrong, fmt.Sprintf("%s: %s was shown by watch %s already", w.name(), ev.shown(), first.Name))
			}
			seen[ev.change()] = w
		}
	}
	return wrong
}

func filtered(e *evidence) []string {
	var wrong []string
	for _, w := range e.Watches {
		for i := range w.Events {
			ev := &w.Events[i]
			if ev.Type == Bookmark {
				continue
			}
			s := ev.State
			if c := e.ledger.At(ev.Revision); c != nil && c.Key == ev.Key {
				if ev.Type == Deleted && c.Prev != nil {
					s.Fields = c.Prev.Fields
				} else if s.Fields == nil {
					s.Fields = c.State.Fields
				}
			}
			if !w.shows(&s) {
				wrong = append(wrong, fmt.Sprintf("%s: %s does not match", w.name(), ev.shown()))
			}
		}
	}
	return wrong
}

func transitions(e *evidence) []string {
	var wrong []string
	for _, w := range e.Watches {
		e.changes(w, func(ev *Event) {
			c := e.ledger.At(ev.Revision)
			if c == nil || c.Key != ev.Key {
				wrong = append(wrong, fmt.Sprintf("%s: %s, and nobody else knows of a change at %d", w.name(), ev.shown(), ev.Revision))
				return
			}
			want, ok := c.event(&w.Options)
			if !ok {
				wrong = append(wrong, fmt.Sprintf("%s: %s was not to be shown: it neither matches nor did before", w.name(), ev.shown()))
				return
			}
			if what := differ(&want.State, &ev.State); want.Type != ev.Type || what != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s, want %s (%s)", w.name(), ev.shown(), want.shown(), what))
			}
		})
	}
	return wrong
}

func complete(e *evidence) []string {
	var wrong []string
	for _, w := range e.Watches {
		b := e.begins[w]
		if !b.known {
			continue // see atomic
		}
		seen := make(map[change]bool)
		e.changes(w, func(ev *Event) { seen[ev.change()] = true })
		until := e.until(w)
		for _, want := range e.ledger.Events(&w.Options, b.at, until) {
			if !seen[want.change()] {
				wrong = append(wrong, fmt.Sprintf("%s: %s is missing, it has shown changes from %d to %d", w.name(), want.shown(), b.at, until))
			}
		}
	}
	return wrong
}

func bookmarkable(e *evidence) []string {
	var wrong []string
	for _, w := range e.Watches {
		b := e.begins[w]
		var want []Event
		if b.known {
			want = e.ledger.Events(&w.Options, b.at, e.until(w))
		}
		seen, mark, last := make(map[change]bool), uint64(0), w.From
		for i := range w.Events[b.initial:] {
			ev := &w.Events[b.initial+i]
			if ev.Type != Bookmark {
				if ev.Revision <= mark {
					wrong = append(wrong, fmt.Sprintf("%s: %s comes after the bookmark %d", w.name(), ev.shown(), mark))
				}
				seen[ev.change()] = true
				last = max(last, ev.Revision)
				continue
			}
			if ev.Revision < last {
				wrong = append(wrong, fmt.Sprintf("%s: the bookmark %d comes after %d", w.name(), ev.Revision, last))
			}
			mark = max(mark, ev.Revision)
			last = max(last, mark)
			for ; len(want) > 0 && want[0].Revision <= mark; want = want[1:] {
				if !seen[want[0].change()] {
					wrong = append(wrong, fmt.Sprintf("%s: the bookmark %d comes before %s", w.name(), mark, want[0].shown()))
				}
			}
		}
	}
	return wrong
}

func kept(e *evidence) []string {
	var wrong []string
	for _, w := range e.Watches {
		b := e.begins[w]
		if at := max(b.at, w.last(b.skip)); w.Expired && at >= w.Kept {
			wrong = append(wrong, fmt.Sprintf("%s: 410 at %d, everything after %d is kept", w.name(), at, w.Kept))
		}
	}
	return wrong
}
