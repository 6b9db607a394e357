package history

import "fmt"

// agreed returns the contradictions that NewLedger found.
func agreed(e *evidence) []string { return e.disagreements }

// locked compares writes with the states that they replaced.
func locked(e *evidence) []string {
	var wrong []string
	for i := range e.Writes {
		w := &e.Writes[i]
		c := e.ledger.At(w.State.Revision)
		if c == nil || c.Key != w.State.Key {
			if w.Op == Delete && w.State.Revision == 0 && !e.ledger.deleted(w.State.Key, w.NotBefore) {
				wrong = append(wrong, fmt.Sprintf("the acknowledged deletion of %s, sent after revision %d, never happened", w.State.Key, w.NotBefore))
			}
			continue // contradicting answers: see agreed
		}
		switch {
		case w.Op == Create && c.Prev != nil:
			wrong = append(wrong, fmt.Sprintf("the create that made %s found %s", describe(&w.State), describe(c.Prev)))
		case w.Op != Create && c.Prev == nil:
			wrong = append(wrong, fmt.Sprintf("the %s that made %s found no object", w.Op, describe(&w.State)))
		case w.Precondition > 0 && c.Prev.Revision != w.Precondition:
			wrong = append(wrong, fmt.Sprintf("the %s that made %s demanded revision %d and replaced %s", w.Op, describe(&w.State), w.Precondition, describe(c.Prev)))
		}
	}
	return wrong
}

// deleted reports whether an object was deleted after a revision.
func (l *Ledger) deleted(key string, after uint64) bool {
	changes := l.keys[key]
	for i := len(changes) - 1; i >= 0 && changes[i].Revision > after; i-- {
		if changes[i].Deleted {
			return true
		}
	}
	return false
}

// fresh compares answers with the writes acknowledged before the request.
func fresh(e *evidence) []string {
	var wrong []string
	for i := range e.Writes {
		if w := &e.Writes[i]; w.State.Revision > 0 && w.State.Revision <= w.NotBefore {
			wrong = append(wrong, fmt.Sprintf("the %s of %s was sent after revision %d was acknowledged", w.Op, describe(&w.State), w.NotBefore))
		}
	}
	for _, l := range e.Lists {
		if l.Revision < l.NotBefore {
			wrong = append(wrong, fmt.Sprintf("a list of %s is at %d, %d was acknowledged before", &l.Options, l.Revision, l.NotBefore))
		}
	}
	for _, w := range e.Watches {
		if b := e.begins[w]; w.From == 0 && b.known && b.at < w.NotBefore {
			wrong = append(wrong, fmt.Sprintf("watch %s of %s begins with the state at %d, %d was acknowledged before: %s", w.Name, &w.Options, b.at,
				w.NotBefore, w.head(b.skip+3)))
		}
	}
	return wrong
}
