package history

import (
	"fmt"
	"slices"
)

// Promise is a guarantee that clients rely on.
type Promise struct {
	Name, Sentence string
	check          func(*evidence) []string
}

// Violation is one way in which a history breaks a promise.
type Violation struct{ Promise, Text string }

func (v Violation) String() string { return v.Promise + ": " + v.Text }

// Promises are all that Check verifies.
func Promises() []Promise {
	return []Promise{
		{"agreed", "A revision is one change, the same for everybody: it is never used again, and acknowledged writes, lists and watches tell the same of it.", agreed},
		{"locked", "A write changes what it was told it would: a create finds no object, an update and a delete find one, and a resourceVersion that they demand is that of the state they replace.", locked},
		{"fresh", "What is answered is not older than what was acknowledged to anybody before it was asked for.", fresh},
		{"ordered", "The revisions of a watch's events increase strictly, from its start, or from the end of its initial events.", ordered},
		{"unique", "A watch and the one that continues it show an event once.", unique},
		{"filtered", "A watch shows only objects of its scope that its selectors match, a deleted one as it last matched.", filtered},
		{"transitions", "An object that begins to match is ADDED, one that ceases to is DELETED with the content that last matched, one that goes on is MODIFIED.", transitions},
		{"complete", "A watch shows every change that matches between its start and the last revision that it has shown.", complete},
		{"atomic", "A list is the state at its revision, exactly; and so is what a watch adds to the list it starts from, or to its own initial events.", atomic},
		{"resumable", "A watch from a revision that another watch has shown goes on with exactly the rest.", resumable},
		{"bookmarkable", "After a bookmark no change at or before its revision comes, and a watch that resumes there loses nothing.", bookmarkable},
		{"kept", "410 is the answer for trimmed history only.", kept},
	}
}

// mostViolations bounds the violations of one promise that Check returns.
const mostViolations = 5

// Check returns the violations in a history, the first few of each promise.
func Check(h *History) []Violation {
	ledger, wrong := NewLedger(h)
	e := &evidence{History: h, ledger: ledger, disagreements: wrong, begins: make(map[*Watch]begin)}
	for _, w := range h.Watches {
		e.begins[w] = ledger.begin(w)
	}
	var all []Violation
	for _, p := range Promises() {
		texts := p.check(e)
		for i, text := range texts {
			if i == mostViolations {
				all = append(all, Violation{p.Name, fmt.Sprintf("and %d more", len(texts)-i)})
				break
			}
			all = append(all, Violation{p.Name, text})
		}
	}
	return all
}

// evidence is a history with its ledger and the derived facts.
type evidence struct {
	*History
	ledger        *Ledger
	disagreements []string
	begins        map[*Watch]begin
}

// begin is the end of the initial events of a watch.
type begin struct {
	initial int    // number of initial events, without the bookmark that closes them
	skip    int    // number of events before the changes: initial and bookmark
	at      uint64 // changes after this revision follow
	known   bool   // the initial events are a state of the ledger
}

// begin finds the revision of the initial events of a watch. Without a closing bookmark,
// the initial events are those leading ADDED events that are the state at some revision
// after which the watch's other events follow, all of them if possible: an ADDED event may
// be the state or a change.
func (l *Ledger) begin(w *Watch) begin {
	if w.From > 0 {
		return begin{at: w.From, known: true}
	}
	for i := range w.Events {
		if w.Events[i].InitialEnd {
			b := begin{initial: i, skip: i + 1, at: w.Events[i].Revision}
			b.known = l.isState(w, i, b.at)
			return b
		}
	}
	leading, newest := 0, make([]uint64, 1, len(w.Events)+1) // newest[k]: newest revision of the first k events
	for leading < len(w.Events) && w.Events[leading].Type == Added {
		newest = append(newest, max(newest[leading], w.Events[leading].Revision))
		leading++
	}
	least := leading // number of events that must be initial, because those after them are in order
	for least > 0 && newest[least-1] < w.Events[least-1].Revision {
		least--
	}
	for _, notBefore := range []uint64{w.NotBefore, 0} { // see fresh
		var possible []begin
		for k := least; k <= leading; k++ {
			if at, ok := l.stateOf(w, k, max(newest[k], notBefore)); ok {
				possible = append(possible, begin{k, k, at, true})
			}
		}
		if i := slices.IndexFunc(possible, func(b begin) bool { return l.follows(w, b) }); i >= 0 {
			return possible[i]
		}
		if len(possible) > 0 {
			return possible[0]
		}
	}
	return begin{initial: leading, skip: leading, at: newest[leading]}
}

// follows reports whether a watch shows all changes between a begin and its last event.
func (l *Ledger) follows(w *Watch, b begin) bool {
	shown := 0
	for _, e := range w.Events[b.skip:] {
		if e.Type != Bookmark {
			shown++
		}
	}
	return shown == len(l.Events(&w.Options, b.at, w.last(b.skip)))
}

// stateOf returns a revision, not before another, whose state is the first k events of a
// watch and whose later changes are the rest.
func (l *Ledger) stateOf(w *Watch, k int, notBefore uint64) (uint64, bool) {
	if k < len(w.Events) {
		at := w.Events[k].Revision
		if w.Events[k].Type != Bookmark {
			at--
		}
		return at, at >= notBefore && l.isState(w, k, at)
	}
	if l.isState(w, k, notBefore) {
		return notBefore, true
	}
	for _, c := range l.changes {
		if c.Revision > notBefore && (w.Until == 0 || c.Revision <= w.Until) && l.isState(w, k, c.Revision) {
			return c.Revision, true
		}
	}
	return 0, false
}

// isState reports whether the first k events of a watch are the state at a
// revision.
func (l *Ledger) isState(w *Watch, k int, at uint64) bool {
	state := l.State(&w.Options, at)
	for _, e := range w.Events[:k] {
		if e.Type != Added || state[e.Key] != e.Revision {
			return false
		}
		delete(state, e.Key)
	}
	return len(state) == 0
}

// until is the revision up to which a watch claims to have shown everything.
func (e *evidence) until(w *Watch) uint64 {
	b := e.begins[w]
	return max(b.at, w.last(b.skip), w.Until)
}
