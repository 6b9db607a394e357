package promise

import (
	"fmt"
	"maps"
	"slices"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// tab is a quota with the state before its last one, which is nil for one that was just made, or was there
// when the tape began.
type tab struct {
	before, last *record.Object
	initial      bool // the last one was there when the tape began
}

// paid follows the tape: a transaction that makes an object has charged it before to each
// quota of its namespace whose status bounds such objects. Its revisions are consecutive.
func paid(r *record.Record) (wrong []string) {
	tabs := make(map[string]map[string]tab) // by namespace and key
	for _, e := range r.Tape {
		space := e.Meta.Namespace
		switch {
		case e.Resource == "resourcequotas" && e.Type == history.Deleted:
			delete(tabs[space], e.Key())
		case e.Resource == "resourcequotas":
			if tabs[space] == nil {
				tabs[space] = make(map[string]tab)
			}
			tabs[space][e.Key()] = tab{tabs[space][e.Key()].last, e.Object, e.Initial}
		case e.Type == history.Added && !e.Initial:
			wrong = append(wrong, unpaid(e, tabs[space])...)
		}
	}
	return wrong
}

// unpaid finds the quotas that bound a new object and were not charged with it.
func unpaid(e record.Event, tabs map[string]tab) (wrong []string) {
	bounding := make(map[string]string) // the names of the amounts, by the quota's key
	for key, t := range tabs {
		for _, name := range hardNames(t.last) {
			if counted(name) == e.Resource && amount(t.last, "status", "hard", name) >= 0 {
				bounding[key] = name
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(bounding)) {
		t, name := tabs[key], bounding[key]
		charged := t.initial || t.before != nil && amount(t.last, "status", "used", name) == amount(t.before, "status", "used", name)+1
		if !charged || t.last.Revision+uint64(len(bounding)) < e.Revision {
			wrong = append(wrong, fmt.Sprintf("%s was made at %d, %s@%d bounds it and was not charged with it", e.Key(), e.Revision, key, t.last.Revision))
		}
	}
	return wrong
}
