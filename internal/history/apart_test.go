package history

import (
	"slices"
	"testing"
)

// together is the example with the changes 3 of a and 4 of b at one revision, and with a watch that
// has shown only the first of them before it was cut, and one that continues it.
func together() *History {
	h := example()
	both := func(s *State) {
		if s.Revision == 3 {
			s.Revision = 4
		}
	}
	for i := range h.Writes {
		both(&h.Writes[i].State)
	}
	for _, l := range h.Lists {
		for i := range l.Items {
			both(&l.Items[i])
		}
	}
	for _, w := range h.Watches {
		for i := range w.Events {
			both(&w.Events[i].State)
		}
	}
	all := h.Watches[0]
	cut := &Watch{Name: "6", Options: all.Options, NotBefore: 1, Events: slices.Clone(all.Events[:3])}
	h.Watches = append(h.Watches, cut, &Watch{Name: "7", Options: all.Options, From: 4, Continues: cut, Until: 7, Events: slices.Clone(all.Events[2:])})
	return h
}

// apart checks a history of revisions with several changes.
func apart(h *History) []Violation {
	a := NewApart(func(string) int { return 0 })
	a.AddAll(h)
	return Check(a.History(h))
}

// TestApart: changes that share a revision keep the promises, a watch that resumes at the revision may
// show the first one again, and must show the second one.
func TestApart(t *testing.T) {
	if wrong := apart(together()); len(wrong) > 0 {
		t.Errorf("the example breaks %v", wrong)
	}
	for name, test := range map[string]struct {
		spoil   func(h *History)
		promise string
	}{
		"the rest of a revision is missing": {func(h *History) {
			w := h.Watches[len(h.Watches)-1]
			w.Events = slices.Delete(w.Events, 1, 2)
		}, "complete"},
		"an object is at a revision twice": {func(h *History) { h.Watches[0].Events[3] = h.Watches[0].Events[2] }, "unique"},
		"a list lacks one of two":          {func(h *History) { h.Lists[1].Items = h.Lists[1].Items[:1] }, "atomic"},
	} {
		h := together()
		test.spoil(h)
		if wrong := apart(h); !slices.ContainsFunc(wrong, func(v Violation) bool { return v.Promise == test.promise }) {
			t.Errorf("%s: not found, only %v", name, wrong)
		}
	}
	if wrong := apart(example()); len(wrong) > 0 {
		t.Errorf("a history of single changes breaks %v", wrong)
	}
}
