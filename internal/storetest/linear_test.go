package storetest

import (
	"testing"

	"github.com/anishathalye/porcupine"
)

// The model refuses histories that break a promise and accepts others.
func TestLinearModel(t *testing.T) {
	type op struct {
		from, to int64
		call     Call
		answer   Answer
	}
	create := func(from, to int64, key, value string, revision uint64) op {
		return op{from, to, Call{Kind: KindCreate, Key: key, Value: value}, Answer{Outcome: Done, Revision: revision}}
	}
	get := func(from, to int64, value string, revision uint64) op {
		return op{from, to, Call{Kind: KindGet, Key: "a"}, Answer{Outcome: Done, Value: value, Revision: revision}}
	}
	update := func(from, to int64, value string, condition uint64, a Answer) op {
		return op{from, to, Call{Kind: KindUpdate, Key: "a", Value: value, If: condition}, a}
	}
	list := func(from, to int64, at, revision uint64, items ...Item) op {
		return op{from, to, Call{Kind: KindList, At: at}, Answer{Outcome: Done, Revision: revision, Items: items}}
	}
	a1, a2, b2 := Item{"a", "x", 1}, Item{"a", "y", 2}, Item{"b", "z", 2}
	for _, c := range []struct {
		name string
		ok   bool
		ops  []op
	}{
		{"in turn", true, []op{create(0, 1, "a", "x", 1), update(2, 3, "y", 1, Answer{Outcome: Done, Revision: 2}), get(4, 5, "y", 2), list(6, 7, 1, 1, a1), list(8, 9, 0, 2, a2)}},
		{"stale read", false, []op{create(0, 1, "a", "x", 1), update(2, 3, "y", 0, Answer{Outcome: Done, Revision: 2}), get(4, 5, "x", 1)}},
		{"read during the write", true, []op{create(0, 1, "a", "x", 1), update(2, 9, "y", 0, Answer{Outcome: Done, Revision: 2}), get(4, 5, "x", 1), get(6, 7, "y", 2)}},
		{"read that goes back", false, []op{create(0, 1, "a", "x", 1), update(2, 9, "y", 0, Answer{Outcome: Done, Revision: 2}), get(4, 5, "y", 2), get(6, 7, "x", 1)}},
		{"two creations", false, []op{create(0, 1, "a", "x", 1), create(2, 3, "a", "y", 2)}},
		{"lost update", false, []op{create(0, 1, "a", "x", 1), update(2, 5, "y", 1, Answer{Outcome: Done, Revision: 2}), update(3, 6, "z", 1, Answer{Outcome: Done, Revision: 3})}},
		{"conflict without reason", false, []op{create(0, 1, "a", "x", 1), update(2, 3, "y", 1, Answer{Outcome: Conflict})}},
		{"revision used twice", false, []op{create(0, 1, "a", "x", 1), create(2, 3, "b", "y", 1)}},
		{"revisions against the order of time", false, []op{create(0, 1, "a", "x", 2), create(2, 3, "b", "y", 1)}},
		{"list that misses", false, []op{create(0, 1, "a", "x", 1), create(2, 3, "b", "z", 2), list(4, 5, 0, 2, a1)}},
		{"list that invents", false, []op{create(0, 1, "a", "x", 1), list(2, 3, 0, 1, a1, b2)}},
		{"list of two moments", false, []op{create(0, 1, "a", "x", 1), create(2, 9, "b", "z", 2), list(3, 4, 0, 1, a1, b2)}},
		{"old list of the new state", false, []op{create(0, 1, "a", "x", 1), update(2, 3, "y", 0, Answer{Outcome: Done, Revision: 2}), list(4, 5, 1, 1, a2)}},
		{"write of unknown outcome that happened", true, []op{create(0, 1, "a", "x", 1), update(2, 99, "y", 0, Answer{Outcome: Unknown}), get(3, 4, "x", 1), get(5, 6, "y", 7)}},
		{"write of unknown outcome that did not", true, []op{create(0, 1, "a", "x", 1), update(2, 99, "y", 0, Answer{Outcome: Unknown}), get(5, 6, "x", 1)}},
		{"write of unknown outcome with two revisions", false, []op{create(0, 1, "a", "x", 1), update(2, 99, "y", 0, Answer{Outcome: Unknown}), get(3, 4, "y", 7), get(5, 6, "y", 8)}},
		{"missing before it was created", true, []op{{0, 5, Call{Kind: KindGet, Key: "a"}, Answer{Outcome: Missing}}, create(1, 2, "a", "x", 1)}},
		{"missing after it was created", false, []op{create(1, 2, "a", "x", 1), {3, 5, Call{Kind: KindGet, Key: "a"}, Answer{Outcome: Missing}}}},
	} {
		var history []porcupine.Operation
		for i, o := range c.ops {
			history = append(history, porcupine.Operation{ClientId: i, Input: o.call, Call: o.from, Output: o.answer, Return: o.to})
		}
		if got := porcupine.CheckOperations(LinearModel(), history); got != c.ok {
			t.Errorf("%s: linearizable is %v, expected %v", c.name, got, c.ok)
		}
	}
}
