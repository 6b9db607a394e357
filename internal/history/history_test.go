package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func web(s *State) bool { return s.Labels["app"] == "web" }

func inRed(name, app string, revision uint64) State {
	return State{Key: Key("configmaps", "red", name), Revision: revision, Labels: map[string]string{"app": app},
		Fields: map[string]string{"metadata.name": name}, Mark: fmt.Sprint("m", revision), Digest: fmt.Sprint("d", revision)}
}

func at(s State, revision uint64) State {
	s.Revision = revision
	return s
}

// example is a history that keeps all promises: a is created (1), b too (2), a gets
// another label (3), b is changed (4), a gets the label back (5), b is deleted (6), a is
// changed (7).
//
// Its watches are 0: everything from the state at 1; 1: objects with the label, from the
// state at 2, with a bookmark; 2: continues 1 from there; 3: everything from the list at
// 4; 4: the label from the list at 2; 5: from trimmed history.
func example() *History {
	a1, b2, a3, b4, a5, b6, a7 := inRed("a", "web", 1), inRed("b", "web", 2), inRed("a", "db", 3), inRed("b", "web", 4), inRed("a", "web", 5), inRed("b", "web", 6), inRed("a", "web", 7)
	b6.Mark = b4.Mark // a deletion has no mark of its own
	all := Options{Resource: "configmaps"}
	label := Options{Resource: "configmaps", Namespace: "red", Selector: "app=web", Matches: web}
	before, base := &List{Options: label, Revision: 2, NotBefore: 2, Items: []State{a1, b2}}, &List{Options: all, Revision: 4, NotBefore: 4, Items: []State{a3, b4}}
	first := &Watch{Name: "1", Options: label, NotBefore: 2, Events: []Event{
		{Type: Added, State: a1}, {Type: Added, State: b2}, {Type: Bookmark, State: State{Revision: 2}, InitialEnd: true},
		{Type: Deleted, State: at(a1, 3)}, {Type: Modified, State: b4}, {Type: Bookmark, State: State{Revision: 4}},
	}}
	return &History{
		Writes: []Write{
			{Op: Create, State: a1}, {Op: Create, State: b2, NotBefore: 1}, {Op: Update, State: a3, NotBefore: 2}, {Op: Update, State: b4, Precondition: 2, NotBefore: 2},
			{Op: Update, State: a5, NotBefore: 4}, {Op: Delete, State: State{Key: b6.Key}, NotBefore: 5}, {Op: Update, State: a7, NotBefore: 5},
		},
		Lists: []*List{before, base, {Options: label, Revision: 5, Items: []State{a5, b4}}},
		Watches: []*Watch{
			{Name: "0", Options: all, NotBefore: 1, Until: 7, Events: []Event{{Type: Added, State: a1}, {Type: Added, State: b2}, {Type: Modified, State: a3},
				{Type: Modified, State: b4}, {Type: Modified, State: a5}, {Type: Deleted, State: b6}, {Type: Modified, State: a7}}},
			first,
			{Name: "2", Options: label, From: 4, Continues: first, Until: 7, Events: []Event{{Type: Added, State: a5}, {Type: Deleted, State: b6}, {Type: Modified, State: a7}}},
			{Name: "3", Options: all, From: 4, Base: base, Events: []Event{{Type: Modified, State: a5}, {Type: Deleted, State: b6}}},
			{Name: "4", Options: label, From: 2, Base: before, Events: []Event{{Type: Deleted, State: at(a1, 3)}, {Type: Modified, State: b4}, {Type: Added, State: a5}}},
			{Name: "5", Options: all, From: 1, Expired: true, Kept: 2},
		},
	}
}

// TestPromises breaks the example in one way at a time.
func TestPromises(t *testing.T) {
	if wrong := Check(example()); len(wrong) > 0 {
		t.Fatalf("the example breaks %v", wrong)
	}
	drop := func(h *History, watch, event int) {
		h.Watches[watch].Events = slices.Delete(h.Watches[watch].Events, event, event+1)
	}
	tested := make(map[string]bool)
	for _, test := range []struct {
		promise, name string
		spoil         func(h *History)
	}{
		{"agreed", "an acknowledged revision is used again", func(h *History) { h.Writes[6].State.Revision = 5 }},
		{"agreed", "an event shows other content than was acknowledged", func(h *History) { h.Watches[0].Events[2].Digest = "other" }},
		{"agreed", "an event shows another write", func(h *History) { h.Watches[2].Events[0].Mark = "other" }},
		{"agreed", "a list has other labels", func(h *History) { h.Lists[1].Items[0].Labels = nil }},
		{"agreed", "an update is shown as a deletion", func(h *History) { h.Watches[0].Events[2].Type = Deleted }},
		{"locked", "a create of an object that is there", func(h *History) { h.Writes[3].Op = Create }},
		{"locked", "an update of nothing", func(h *History) { h.Writes[0].Op = Update }},
		{"locked", "an update of a stale state", func(h *History) { h.Writes[4].Precondition = 1 }},
		{"locked", "a deletion that never happened", func(h *History) { h.Writes[5].State.Key = Key("configmaps", "red", "a") }},
		{"locked", "a deletion that happened before", func(h *History) { h.Writes[5].NotBefore = 6 }},
		{"fresh", "a write at an old revision", func(h *History) { h.Writes[2].NotBefore = 3 }},
		{"fresh", "a stale list", func(h *History) { h.Lists[2].NotBefore = 6 }},
		{"fresh", "a stale beginning of a watch", func(h *History) { h.Watches[1].NotBefore = 3 }},
		{"ordered", "two events are swapped", func(h *History) {
			e := h.Watches[3].Events
			e[0], e[1] = e[1], e[0]
		}},
		{"ordered", "an event at the revision that the watch starts after", func(h *History) { h.Watches[2].From = 5 }},
		{"ordered", "a change among the initial events", func(h *History) {
			e := h.Watches[1].Events
			e[2], e[3] = e[3], e[2]
		}},
		{"unique", "an event comes twice", func(h *History) { h.Watches[3].Events = append(h.Watches[3].Events, h.Watches[3].Events[1]) }},
		{"unique", "an event comes again after resuming", func(h *History) {
			h.Watches[2].Events = append([]Event{h.Watches[1].Events[4]}, h.Watches[2].Events...)
		}},
		{"filtered", "an object that does not match", func(h *History) {
			h.Watches[1].Events = append(h.Watches[1].Events, Event{Type: Modified, State: h.Writes[2].State})
		}},
		{"filtered", "a deletion with what does not match", func(h *History) { h.Watches[1].Events[3].Labels = map[string]string{"app": "db"} }},
		{"filtered", "an object of another namespace", func(h *History) { h.Watches[1].Namespace = "blue" }},
		{"transitions", "MODIFIED on entering", func(h *History) { h.Watches[2].Events[0].Type = Modified }},
		{"transitions", "ADDED for an update", func(h *History) { h.Watches[0].Events[4].Type = Added }},
		{"transitions", "DELETED with the state that does not match", func(h *History) { h.Watches[4].Events[0].State = inRed("a", "web", 3) }},
		{"transitions", "DELETED for what stays", func(h *History) { h.Watches[4].Events[1].Type = Deleted }},
		{"transitions", "an event that nobody knows of", func(h *History) { h.Watches[4].Events[0].Revision = 20 }},
		{"complete", "an event in the middle is missing", func(h *History) { drop(h, 2, 1) }},
		{"complete", "the first event after a revision is missing", func(h *History) { drop(h, 3, 0) }},
		{"complete", "the last event before a bookmark is missing", func(h *History) { drop(h, 1, 4) }},
		{"complete", "the last event is missing", func(h *History) { drop(h, 2, 2) }},
		{"atomic", "a list lacks an object", func(h *History) { h.Lists[1].Items = h.Lists[1].Items[:1] }},
		{"atomic", "a list has an object of the future", func(h *History) { h.Lists[2].Items[1] = State{Key: Key("configmaps", "red", "b"), Revision: 9} }},
		{"atomic", "a list has an object twice", func(h *History) { h.Lists[2].Items = append(h.Lists[2].Items, h.Lists[2].Items[0]) }},
		{"atomic", "initial events lack an object", func(h *History) { drop(h, 1, 0) }},
		{"atomic", "a watch does not add up with its list", func(h *History) { drop(h, 4, 1) }},
		{"atomic", "an acknowledged write is not in a later list", func(h *History) {
			h.Lists = append(h.Lists, &List{Options: h.Lists[1].Options, Revision: 8, Items: []State{h.Writes[4].State}})
		}},
		{"resumable", "the rest lacks an event", func(h *History) { h.Watches[3].Events[0] = h.Watches[3].Events[1]; drop(h, 3, 1) }},
		{"resumable", "the rest has other content", func(h *History) { h.Watches[4].Events[1].Digest = "other" }},
		{"bookmarkable", "a change comes after the bookmark that covers it", func(h *History) {
			e := h.Watches[1].Events
			e[4], e[5] = e[5], e[4]
		}},
		{"bookmarkable", "a bookmark skips a change", func(h *History) { h.Watches[1].Events[5].Revision = 5 }},
		{"bookmarkable", "bookmarks go back", func(h *History) {
			h.Watches[1].Events = append(h.Watches[1].Events, Event{Type: Bookmark, State: State{Revision: 3}})
		}},
		{"kept", "410 for what is kept", func(h *History) { h.Watches[5].Kept = 1 }},
	} {
		h := example()
		test.spoil(h)
		tested[test.promise] = true
		found := false
		wrong := Check(h)
		for _, v := range wrong {
			found = found || v.Promise == test.promise
		}
		if !found {
			t.Errorf("%s, %s: not found, only %v", test.promise, test.name, wrong)
		}
	}
	for _, p := range Promises() {
		if !tested[p.Name] || !strings.HasSuffix(p.Sentence, ".") {
			t.Errorf("%s has no test, or no sentence", p.Name)
		}
	}
}

// TestBeginOfWatch: initial events without a closing bookmark are distinguished from
// changes by the state that they add up to.
func TestBeginOfWatch(t *testing.T) {
	h := example()
	all := h.Watches[0].Options
	state := func(s ...State) *Watch {
		w := &Watch{Name: "new", Options: all}
		for _, s := range s {
			w.Events = append(w.Events, Event{Type: Added, State: s})
		}
		return w
	}
	a1, b2, a3, a7 := h.Writes[0].State, h.Writes[1].State, h.Writes[2].State, h.Writes[6].State
	b4 := h.Writes[3].State
	for name, test := range map[string]struct {
		watch *Watch
		at    uint64
		known bool
	}{
		"nothing yet":                   {state(), 0, true},
		"all initial":                   {state(b2, a3), 3, true},
		"the first may be a change":     {state(a1, b2), 0, true},
		"a bookmark of the state":       {&Watch{Options: all, Events: append(state(b2, a3).Events, Event{Type: Bookmark, State: State{Revision: 3}})}, 3, true},
		"a bookmark after the state":    {&Watch{Options: all, NotBefore: 5, Events: append(state(h.Writes[4].State, b4).Events, Event{Type: Bookmark, State: State{Revision: 5}}, Event{Type: Deleted, State: at(b4, 6)})}, 5, true},
		"a deletion before the state":   {state(a7), 7, true},
		"an object is missing":          {state(b4), 4, false},
		"cut":                           {&Watch{Options: all, Cut: true, Events: state(b4).Events}, 4, false},
		"nothing after the last change": {&Watch{Options: Options{Resource: "configmaps", Namespace: "blue"}, NotBefore: 7}, 7, true},
	} {
		l, _ := NewLedger(h)
		if b := l.begin(test.watch); b.at != test.at || b.known != test.known {
			t.Errorf("%s: %+v, want %d, %t", name, b, test.at, test.known)
		}
	}
}

// TestRandomHistories finds no violation in histories of a server that keeps its
// promises, and some when one event is missing or two are swapped.
func TestRandomHistories(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range 100 {
		h := random(rand.New(rand.NewPCG(seed, uint64(i))))
		if wrong := Check(h); len(wrong) > 0 {
			t.Fatalf("history %d: %v", i, wrong)
		}
		r := rand.New(rand.NewPCG(seed, uint64(i)+1<<32))
		w := h.Watches[1+r.IntN(len(h.Watches)-1)] // not the watch that the ledger is made of
		if len(w.Events) == 0 {
			continue
		}
		n := r.IntN(len(w.Events))
		if w.Events[n].Type == Bookmark {
			continue // a server need not send it
		}
		if r.IntN(2) == 0 || n+1 == len(w.Events) || w.Events[n].Type == Added && w.Events[n+1].Type == Added {
			w.Events = slices.Delete(w.Events, n, n+1)
		} else {
			w.Events[n], w.Events[n+1] = w.Events[n+1], w.Events[n]
		}
		if wrong := Check(h); len(wrong) == 0 {
			t.Fatalf("history %d: %s was spoilt and nothing is found", i, w.name())
		}
	}
}

// random is a history of correct answers.
func random(r *rand.Rand) *History {
	h := &History{}
	live := make(map[string]State)
	everything := &Watch{Name: "all", Options: Options{Resource: "configmaps"}}
	const revisions = 60
	for revision := uint64(1); revision <= revisions; revision++ {
		name, app := string(rune('a'+r.IntN(5))), "web"
		if r.IntN(2) == 0 {
			app = "db"
		}
		s := inRed(name, app, revision)
		old, exists := live[s.Key]
		event, op := Added, Create
		switch {
		case exists && r.IntN(3) == 0:
			event, op = Deleted, Delete
			s = at(old, revision)
			delete(live, s.Key)
		case exists:
			event, op = Modified, Update
			fallthrough
		default:
			live[s.Key] = s
		}
		everything.Events = append(everything.Events, Event{Type: event, State: s})
		h.Writes = append(h.Writes, Write{Op: op, State: s, NotBefore: revision - 1})
	}
	h.Watches = append(h.Watches, everything)
	l, _ := NewLedger(h)
	for i := range 10 {
		o := everything.Options
		if r.IntN(2) == 0 {
			o.Selector, o.Matches = "app=web", web
		}
		from := uint64(r.IntN(revisions))
		w := &Watch{Name: fmt.Sprint(i), Options: o, From: from, Until: revisions}
		state := &List{Options: o, Revision: from, NotBefore: from}
		for key, revision := range l.State(&o, from) {
			state.Items = append(state.Items, l.At(revision).State)
			_ = key
		}
		switch r.IntN(2) {
		case 0:
			w.From, w.NotBefore = 0, from
			for _, s := range state.Items {
				w.Events = append(w.Events, Event{Type: Added, State: s})
			}
			if r.IntN(2) == 0 || from == 0 {
				w.Events = append(w.Events, Event{Type: Bookmark, State: State{Revision: from}, InitialEnd: true})
			}
		case 1:
			w.Base = state
		}
		for _, e := range l.Events(&o, from, revisions) {
			w.Events = append(w.Events, e)
			if r.IntN(5) == 0 {
				w.Events = append(w.Events, Event{Type: Bookmark, State: State{Revision: e.Revision}})
			}
		}
		h.Lists, h.Watches = append(h.Lists, state), append(h.Watches, w)
	}
	return h
}

// TestAmbiguousBegin: an ADDED event that may be the state or a change is the state when
// changes before it would be missing otherwise.
func TestAmbiguousBegin(t *testing.T) {
	x1, y2, x4 := inRed("x", "web", 1), inRed("y", "web", 2), inRed("x", "web", 4)
	all := Options{Resource: "configmaps"}
	w := &Watch{Name: "late", Options: all, Events: []Event{{Type: Added, State: x1}, {Type: Modified, State: x4}}}
	h := &History{Watches: []*Watch{w, {Name: "all", Options: all, Until: 4, Events: []Event{{Type: Added, State: x1}, {Type: Added, State: y2}, {Type: Deleted, State: at(y2, 3)}, {Type: Modified, State: x4}}}}}
	if wrong := Check(h); len(wrong) > 0 {
		t.Error(wrong)
	}
	w.Events = w.Events[:1]
	w.Events = append(w.Events, Event{Type: Bookmark, State: State{Revision: 2}})
	if wrong := Check(h); len(wrong) == 0 {
		t.Error("a bookmark comes before the change that it covers, and nothing is found")
	}
}
