package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// Kind is the kind of a call.
type Kind uint8

// The kinds of calls.
const (
	KindCreate Kind = iota + 1
	KindGet
	KindUpdate
	KindDelete
	KindList
)

// Call is the request of one client.
type Call struct {
	Kind  Kind
	Key   string // of the object; for KindList the prefix of the keys
	Value string // to write; unique in a history
	// If is the revision that the object must have, 0 for any. The client knows it from
	// an answer.
	If uint64
	// At is the revision of a list, 0 for the newest.
	At uint64
}

// Outcome is the end of a call.
type Outcome uint8

// The outcomes of calls.
const (
	Done     Outcome = iota + 1
	Missing          // the object does not exist
	Exists           // create: the object exists
	Conflict         // its revision is not the requested one
	Trimmed          // list: the revision is too old
	Unknown          // the client has no answer; a write may have happened
)

// Answer is the server's answer to a call.
type Answer struct {
	Outcome Outcome
	// Revision is the object's after a get or a write, 0 when the answer did not have it;
	// that of the view after a list.
	Revision uint64
	Value    string // KindGet
	Items    []Item // KindList, in key order
}

// Item is an object in a list.
type Item struct {
	Key, Value string
	Revision   uint64
}

// linearState is the sequence of all changes so far. It is never changed.
type linearState struct {
	last    uint64 // every later write has a greater revision
	changes []linearChange
}

// linearChange is one write. Its revision is 0 until an answer has shown it.
type linearChange struct {
	Item
	deleted bool
}

// with returns the state after one more change, or with more knowledge of one.
func (s linearState) with(c linearChange) linearState {
	return linearState{max(s.last, c.Revision), append(slices.Clip(s.changes), c)}
}

// find returns the index of a key's newest change that is an object, or -1.
func (s linearState) find(key string) int {
	for i := len(s.changes) - 1; i >= 0; i-- {
		if s.changes[i].Key == key {
			if s.changes[i].deleted {
				return -1
			}
			return i
		}
	}
	return -1
}

// seen returns the state after an answer has shown a change as an item.
func (s linearState) seen(i int, item Item) (bool, linearState) {
	c := s.changes[i]
	switch {
	case c.Value != item.Value || c.Key != item.Key:
		return false, s
	case c.Revision == item.Revision:
		return true, s
	case c.Revision != 0:
		return false, s
	}
	changes := slices.Clone(s.changes)
	changes[i].Revision = item.Revision
	return true, linearState{max(s.last, item.Revision), changes}
}

// step is the sequential specification: it reports whether a call may have an answer in a
// state, and the state after it.
func (s linearState) step(c Call, a Answer) (bool, linearState) {
	switch c.Kind {
	case KindGet:
		return s.get(c, a)
	case KindList:
		return s.list(c, a)
	}
	i := s.find(c.Key)
	refusal := Done
	switch {
	case c.Kind == KindCreate && i >= 0:
		refusal = Exists
	case c.Kind != KindCreate && i < 0:
		refusal = Missing
	case c.Kind != KindCreate && c.If != 0 && s.changes[i].Revision != c.If:
		refusal = Conflict
	}
	switch {
	case a.Outcome == Unknown && refusal != Done:
		return true, s
	case a.Outcome != Unknown && a.Outcome != refusal:
		return false, s
	case refusal != Done:
		return true, s
	case a.Revision != 0 && a.Revision <= s.last:
		return false, s
	}
	return true, s.with(linearChange{Item{c.Key, c.Value, a.Revision}, c.Kind == KindDelete})
}

func (s linearState) get(c Call, a Answer) (bool, linearState) {
	i := s.find(c.Key)
	switch {
	case a.Outcome == Unknown:
		return true, s
	case a.Outcome == Missing || i < 0:
		return a.Outcome == Missing && i < 0, s
	}
	return s.seen(i, Item{c.Key, a.Value, a.Revision})
}

func (s linearState) list(c Call, a Answer) (bool, linearState) {
	if a.Outcome != Done {
		return true, s // the answer shows nothing
	}
	if c.At != 0 && a.Revision != c.At || c.At == 0 && a.Revision < s.last {
		return false, s
	}
	at := s
	for i, change := range s.changes {
		if change.Revision > a.Revision {
			at.changes = s.changes[:i]
			break
		}
	}
	items := a.Items
	for i, change := range at.changes {
		if !strings.HasPrefix(change.Key, c.Key) || at.find(change.Key) != i {
			continue
		}
		n, ok := slices.BinarySearchFunc(a.Items, change.Key, func(item Item, key string) int { return cmp.Compare(item.Key, key) })
		if !ok {
			return false, s
		}
		if ok, s = s.seen(i, a.Items[n]); !ok {
			return false, s
		}
		items = items[1:] // one for one
	}
	if len(items) != 0 {
		return false, s
	}
	s.last = max(s.last, a.Revision)
	return true, s
}

// LinearModel is the specification of a store's calls, for porcupine: the inputs
// of its operations are of type Call, the outputs of type Answer.
//
// A history is linearizable if every call can be given a moment between its
// begin and its end such that each is answered as if it had run alone at that
// moment; revisions order writes, so that a list at a revision is checked against
// all writes up to it. Keys cannot be looked at one by one, because lists see all
// of them.
func LinearModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return linearState{} },
		Step: func(state, input, output any) (bool, any) {
			return state.(linearState).step(input.(Call), output.(Answer))
		},
		Equal: func(a, b any) bool {
			x, y := a.(linearState), b.(linearState)
			return x.last == y.last && slices.Equal(x.changes, y.changes)
		},
		DescribeOperation: func(input, output any) string { return fmt.Sprintf("%+v -> %+v", input, output) },
	}
}

// Recorder writes down a history. It is safe for concurrent use.
type Recorder struct {
	start time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
}

// NewRecorder returns a recorder with an empty history.
func NewRecorder() *Recorder { return &Recorder{start: time.Now()} }

// Do runs a call of a client and writes it down, unless run reports that nothing
// happened. A write whose outcome is unknown may take effect at any later time.
func (r *Recorder) Do(client int, c Call, run func() (a Answer, happened bool)) Answer {
	o := porcupine.Operation{ClientId: client, Input: c, Call: int64(time.Since(r.start))}
	a, happened := run()
	o.Output, o.Return = a, int64(time.Since(r.start))
	if a.Outcome == Unknown {
		o.Return = 1 << 62
	}
	if happened {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.operations = append(r.operations, o)
	}
	return a
}

// Len is the number of calls in the history.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.operations)
}

// Check fails the test if the history is not linearizable, with the calls as far
// as they can be ordered.
func (r *Recorder) Check(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	result, info := porcupine.CheckOperationsVerbose(LinearModel(), r.operations, time.Minute)
	if result == porcupine.Ok {
		return
	}
	longest := 0
	for _, partition := range info.PartialLinearizations() {
		for _, order := range partition {
			longest = max(longest, len(order))
		}
	}
	slices.SortFunc(r.operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, o := range r.operations {
		t.Logf("%d..%d client %d: %+v -> %+v", o.Call, o.Return, o.ClientId, o.Input, o.Output)
	}
	t.Errorf("the history is not linearizable (%s): %d of %d calls can be ordered", result, longest, len(r.operations))
}
