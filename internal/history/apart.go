package history

import (
	"cmp"
	"slices"
)

// Apart gives each change a revision of its own, for histories of a store in which the changes of
// one transaction share one. The changes at a revision are in the order of ranks, and of keys.
//
// Such a server shows a watch that resumes at a revision all changes of the revision: the client may
// have got the first of them only. Events that the client had are not in the result, since the
// promises want each event once.
type Apart struct {
	rank    func(key string) int
	changes map[uint64][]string // the keys at a revision
}

// perRevision is the number of revisions for each one of the store.
const perRevision = 1024

// NewApart returns an Apart without changes. rank is the place of a key among those at one revision.
func NewApart(rank func(key string) int) *Apart {
	return &Apart{rank, make(map[uint64][]string)}
}

// Add notes a change. All have to be noted before the first one is asked for.
func (a *Apart) Add(key string, revision uint64) {
	keys := a.changes[revision]
	i, found := slices.BinarySearchFunc(keys, key, func(x, y string) int { return cmp.Or(cmp.Compare(a.rank(x), a.rank(y)), cmp.Compare(x, y)) })
	if !found {
		a.changes[revision] = slices.Insert(keys, i, key)
	}
}

// AddAll notes the changes of a history.
func (a *Apart) AddAll(h *History) {
	for _, w := range h.Writes {
		a.Add(w.State.Key, w.State.Revision)
	}
	for _, l := range h.Lists {
		for _, s := range l.Items {
			a.Add(s.Key, s.Revision)
		}
	}
	for _, w := range h.Watches {
		a.AddWatch(w)
	}
}

// AddWatch notes the changes that a watch shows.
func (a *Apart) AddWatch(w *Watch) {
	for _, e := range w.Events {
		if e.Type != Bookmark {
			a.Add(e.Key, e.Revision)
		}
	}
}

// Change is the revision of the change of a key; of an unknown one it is before the known ones.
func (a *Apart) Change(key string, revision uint64) uint64 {
	if revision == 0 {
		return 0
	}
	return revision*perRevision + 1 + uint64(slices.Index(a.changes[revision], key))
}

// State is the revision after all changes at a revision.
func (a *Apart) State(revision uint64) uint64 {
	if revision == 0 {
		return 0
	}
	return revision*perRevision + perRevision - 1
}

// History is a history with revisions apart.
func (a *Apart) History(h *History) *History {
	out := &History{Writes: slices.Clone(h.Writes)}
	for i := range out.Writes {
		w := &out.Writes[i]
		w.State.Revision, w.Precondition, w.NotBefore = a.Change(w.State.Key, w.State.Revision), a.Change(w.State.Key, w.Precondition), a.State(w.NotBefore)
	}
	lists, watches := make(map[*List]*List), make(map[*Watch]*Watch)
	for _, l := range h.Lists {
		lists[l] = a.list(l)
		out.Lists = append(out.Lists, lists[l])
	}
	for _, w := range h.Watches {
		watches[w] = a.Watch(w)
		out.Watches = append(out.Watches, watches[w])
	}
	for from, to := range watches {
		if from.Continues != nil {
			to.Continues = watches[from.Continues]
		}
		if from.Base != nil && lists[from.Base] != nil {
			to.Base = lists[from.Base]
		}
	}
	return out
}

func (a *Apart) list(l *List) *List {
	out := *l
	out.Revision, out.NotBefore, out.Items = a.State(l.Revision), a.State(l.NotBefore), slices.Clone(l.Items)
	for i := range out.Items {
		out.Items[i].Revision = a.Change(out.Items[i].Key, out.Items[i].Revision)
	}
	return &out
}

// Watch is a watch with revisions apart, without the events that its client had before. Its list and
// the watch before have those of the original still.
func (a *Apart) Watch(w *Watch) *Watch {
	out := *w
	out.From, out.NotBefore, out.Until, out.Kept = a.from(w), a.State(w.NotBefore), a.State(w.Until), a.State(w.Kept)
	out.Events = nil
	for _, e := range w.Events {
		if e.Type == Bookmark {
			e.Revision = a.State(e.Revision)
		} else {
			e.Revision = a.Change(e.Key, e.Revision)
		}
		if w.From == 0 || e.Revision > out.From {
			out.Events = append(out.Events, e)
		}
	}
	if w.Base != nil {
		out.Base = a.list(w.Base)
	}
	return &out
}

// from is the revision up to which the client of a watch has seen everything when the watch begins.
func (a *Apart) from(w *Watch) uint64 {
	before := w.Continues
	if before == nil || len(before.Events) == 0 {
		return a.State(w.From)
	}
	if last := before.Events[len(before.Events)-1]; last.Type != Bookmark && last.Revision == w.From {
		return a.Change(last.Key, last.Revision)
	}
	return a.State(w.From)
}
