package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// openReplica opens a replica on a file system.
func openReplica(t *testing.T, fs vfs.FS) *Engine {
	t.Helper()
	e, err := Open(Config{Dir: "replica", FS: fs, Replica: true})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// checked closes an engine in which nothing may be wrong.
func checked(t *testing.T, e *Engine) {
	t.Helper()
	if err := e.Check(t.Context(), func(problem string) { t.Errorf("check: %s", problem) }); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// numbered is a value with a place for the revision.
func numbered(n int) Value {
	body := fmt.Sprintf(`{"n":%d,"rev":""}`, n)
	return Value{Meta: fmt.Appendf(nil, "meta-%d", n), Body: []byte(body), RevisionAt: len(body) - 2}
}

// shows compares the newest entries of a replica, and its changes after a revision.
func shows(t *testing.T, e *Engine, after uint64, entries, changes []string) {
	t.Helper()
	r, err := e.At(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	var got []string
	if err := r.Scan(t.Context(), "", "", func(e *Entry) bool {
		got = append(got, fmt.Sprintf("%s@%d=%s %s", e.Key, e.Revision, e.Meta, e.Body))
		return true
	}); err != nil || !slices.Equal(got, entries) {
		t.Errorf("entries %q, %v\nexpected %q", got, err, entries)
	}
	got = nil
	if _, err := e.Changes(t.Context(), "", after, func(c *Change) bool {
		got = append(got, fmt.Sprintf("%d %s@%d after %d: %s", c.Op, c.Entry.Key, c.Entry.Revision, c.Prev.Revision, c.Entry.Body))
		return false // a revision is shown whole all the same
	}); err != nil || !slices.Equal(got, changes) {
		t.Errorf("changes %q, %v\nexpected %q", got, err, changes)
	}
}

func TestReplicaFollows(t *testing.T) {
	fs := vfs.NewMem()
	e := openReplica(t, fs)
	if _, err := e.Update(t.Context(), "a", func(*Entry) (Write, error) { return Write{}, nil }); !errors.Is(err, ErrReplica) {
		t.Errorf("a transaction gives %v", err)
	}
	if err := e.Load("source", func(l *Loading) (uint64, error) {
		return 7, errors.Join(l.Put("a", 3, numbered(1)), l.Put("b", 7, numbered(2)))
	}); err != nil {
		t.Fatal(err)
	}
	if source, err := e.Source(); source != "source" || err != nil || e.Current() != 7 || e.Oldest() != 7 {
		t.Errorf("source %q, %v, current %d, oldest %d", source, err, e.Current(), e.Oldest())
	}
	var heard []string
	_, cancel := e.Subscribe(States, func(b Batch) {
		for _, c := range b.Changes {
			heard = append(heard, fmt.Sprintf("%s@%d", c.Entry.Key, c.Entry.Revision))
		}
		heard = append(heard, fmt.Sprintf("up to %d, gap %t", b.Revision, b.Gap))
	})
	defer cancel()
	if err := e.Replicate([]Followed{{Key: "a", Revision: 9, Value: numbered(3)}, {Key: "b", Revision: 9, Delete: true, Value: numbered(2)},
		{Key: "c", Revision: 9, Value: numbered(4)}, {Key: "nothing", Revision: 12, Delete: true}, {Key: "a", Revision: 12, Value: numbered(5)}}, false); err != nil {
		t.Fatal(err)
	}
	if want := []string{"a@9", "b@9", "c@9", "a@12", "up to 12, gap false"}; !slices.Equal(heard, want) {
		t.Errorf("heard %q, expected %q", heard, want)
	}
	waited := make(chan error, 1)
	go func() { waited <- e.WaitFor(t.Context(), 20) }()
	e.Advance(20)
	if err := <-waited; err != nil || e.Current() != 20 {
		t.Errorf("%v at %d", err, e.Current())
	}
	if got := heard[len(heard)-1]; got != "up to 20, gap false" {
		t.Errorf("a revision without a change is announced as %q", got)
	}
	if err := e.Replicate([]Followed{{Key: "a", Revision: 20, Value: numbered(6)}}, false); err == nil {
		t.Error("a revision is followed twice")
	}
	entries := []string{`a@12=meta-5 {"n":5,"rev":"12"}`, `c@9=meta-4 {"n":4,"rev":"9"}`}
	changes := []string{`2 a@9 after 3: {"n":3,"rev":"9"}`, `3 b@9 after 7: {"n":2,"rev":"9"}`, `1 c@9 after 0: {"n":4,"rev":"9"}`}
	shows(t, e, 7, entries, changes)
	checked(t, e)

	e = openReplica(t, fs)
	if e.Current() != 12 {
		t.Errorf("after a restart the current revision is %d", e.Current())
	}
	shows(t, e, 7, entries, changes)
	if err := e.Trim(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	shows(t, e, 9, entries, []string{`2 a@12 after 9: {"n":5,"rev":"12"}`})
	checked(t, e)
}

// TestReplicaHasNoLog: the writes of a replica are in no log. Those that are older than the interval of flushes outlive a crash,
// and all of them outlive a Close.
func TestReplicaHasNoLog(t *testing.T) {
	fs := vfs.NewCrashableMem()
	open := func(fs vfs.FS, interval time.Duration) *Engine {
		e, err := Open(Config{Dir: "data", FS: fs, Replica: true, FlushInterval: interval})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	after := func() uint64 { // the revision that a start after a crash has
		e := open(fs.CrashClone(vfs.CrashCloneCfg{}), time.Hour)
		defer func() { _ = e.Close() }()
		return e.Current()
	}
	e := open(fs, time.Millisecond)
	if err := e.Load("source", func(l *Loading) (uint64, error) { return 7, l.Put("a", 7, numbered(1)) }); err != nil {
		t.Fatal(err)
	}
	if got := after(); got != 7 {
		t.Errorf("a crash after the load leaves revision %d", got)
	}
	if err := e.Replicate([]Followed{{Key: "a", Revision: 9, Value: numbered(2)}}, false); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); after() != 9; {
		if time.Now().After(deadline) {
			t.Fatal("a write is in no sorted file after many intervals")
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	e = open(fs, time.Hour)
	if err := e.Replicate([]Followed{{Key: "a", Revision: 11, Value: numbered(3)}}, false); err != nil {
		t.Fatal(err)
	}
	if got := after(); got != 9 {
		t.Errorf("a crash before the interval is over leaves revision %d", got)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if got := after(); got != 11 {
		t.Errorf("a crash after a Close leaves revision %d", got)
	}
}

// TestGapEndsHistory: as soon as changes that replace others are visible, those before them are not
// history any more, also after a restart and without a trim.
func TestGapEndsHistory(t *testing.T) {
	fs := vfs.NewMem()
	e := openReplica(t, fs)
	if err := e.Load("source", func(l *Loading) (uint64, error) { return 3, l.Put("a", 2, numbered(1)) }); err != nil {
		t.Fatal(err)
	}
	if err := e.Replicate([]Followed{{Key: "a", Revision: 5, Value: numbered(2)}}, false); err != nil {
		t.Fatal(err)
	}
	refused := func(step string) {
		t.Helper()
		if _, err := e.Changes(t.Context(), "", 5, func(*Change) bool { return true }); !errors.As(err, new(*TrimmedError)) {
			t.Errorf("%s the changes across the gap: %v", step, err)
		}
		if _, err := e.At(t.Context(), 5); !errors.As(err, new(*TrimmedError)) {
			t.Errorf("%s the state before the gap: %v", step, err)
		}
	}
	_, cancel := e.Subscribe(States, func(b Batch) {
		if b.Revision == 9 && e.Oldest() != 9 {
			t.Errorf("the gap is announced while history begins at %d", e.Oldest())
		}
	})
	if err := e.Replicate([]Followed{{Key: "b", Revision: 8, Value: numbered(3)}, {Key: "a", Revision: 9, Value: numbered(4)}}, true); err != nil {
		t.Fatal(err)
	}
	cancel()
	refused("at once")
	shows(t, e, 9, []string{`a@9=meta-4 {"n":4,"rev":"9"}`, `b@8=meta-3 {"n":3,"rev":"8"}`}, nil)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = openReplica(t, fs)
	refused("after a restart")
	checked(t, e)
}

// TestLoadBeginsAnew: a source takes back the values under a prefix, also those in the tree already, and
// a value newer than the state is refused.
func TestLoadBeginsAnew(t *testing.T) {
	e := openReplica(t, vfs.NewMem())
	large := Value{Body: make([]byte, loadBatch), RevisionAt: -1}
	if err := e.Load("source", func(l *Loading) (uint64, error) {
		return 9, errors.Join(l.Put("a/1", 1, large), l.Put("a/2", 2, numbered(2)), l.Put("b/1", 3, numbered(3)), l.Drop("a/"), l.Put("a/2", 8, numbered(8)))
	}); err != nil {
		t.Fatal(err)
	}
	shows(t, e, 9, []string{`a/2@8=meta-8 {"n":8,"rev":"8"}`, `b/1@3=meta-3 {"n":3,"rev":"3"}`}, nil)
	checked(t, e)
	e = openReplica(t, vfs.NewMem())
	for _, at := range []uint64{0, 5} {
		if err := e.Load("source", func(l *Loading) (uint64, error) { return 4, l.Put("a", at, numbered(1)) }); err == nil {
			t.Errorf("a value of revision %d in the state of revision 4 is taken", at)
		}
	}
	checked(t, e)
}

// TestReplicaEqualsItsSource follows a store with random writes, in groups of random sizes, and
// is compared with it at revisions of the past.
func TestReplicaEqualsItsSource(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	source, err := Open(Config{Dir: "source", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	e := openReplica(t, vfs.NewMem())
	if err := e.Load("source", func(*Loading) (uint64, error) { return 1, nil }); err != nil {
		t.Fatal(err)
	}
	for i := range 400 {
		randomly(t, source, r, i)
	}
	for at := uint64(0); at < source.Current(); {
		var group []Followed
		last := at + 1 + r.Uint64N(20)
		if _, err := source.Changes(t.Context(), "", at, func(c *Change) bool {
			f := Followed{Key: c.Entry.Key, Revision: 10 * c.Entry.Revision, Delete: c.Op == OpDelete, Value: c.Entry.Value}
			f.Value.RevisionAt = -1
			group = append(group, f)
			at = c.Entry.Revision
			return at < last
		}); err != nil {
			t.Fatal(err)
		}
		if err := e.Replicate(group, false); err != nil {
			t.Fatal(err)
		}
	}
	for range 40 {
		at := 1 + r.Uint64N(source.Current())
		if want, got := stateAt(t, source, at, 10), stateAt(t, e, 10*at, 1); !slices.Equal(got, want) {
			t.Errorf("at %d the replica has %q, its source %q", at, got, want)
		}
	}
	checked(t, e)
	checked(t, source)
}

// randomly creates, updates or deletes one of ten keys.
func randomly(t *testing.T, e *Engine, r *rand.Rand, n int) {
	t.Helper()
	deletes := r.IntN(3) == 0
	if _, err := e.Update(context.Background(), fmt.Sprintf("k/%d", r.IntN(10)), func(current *Entry) (Write, error) {
		switch {
		case current == nil:
			return Write{Op: OpCreate, Value: Value{Body: fmt.Appendf(nil, "%d", n), RevisionAt: -1}}, nil
		case deletes:
			return Write{Op: OpDelete, Value: Value{Body: current.Body, RevisionAt: -1}}, nil
		}
		return Write{Op: OpUpdate, Value: Value{Body: fmt.Appendf(nil, "%d", n), RevisionAt: -1}}, nil
	}); err != nil {
		t.Fatal(err)
	}
}

// stateAt is the state of a store at a revision, with revisions multiplied.
func stateAt(t *testing.T, e *Engine, at, times uint64) (all []string) {
	t.Helper()
	view, err := e.At(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	if err := view.Scan(t.Context(), "", "", func(e *Entry) bool {
		all = append(all, fmt.Sprintf("%s@%d=%s", e.Key, times*e.Revision, e.Body))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
