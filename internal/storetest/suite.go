// Package storetest holds the acceptance suite of engines behind store.Store: one test
// per promise of the contract, random operations compared with a reference model, and
// concurrent histories checked afterwards.
//
// An engine's own test calls Run with a Harness. The Model in this package is a Store
// too, kept so simple that it is right by inspection; it passes the suite and can stand
// in for an engine in other packages' tests.
package storetest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

// Harness opens the engine under test.
type Harness struct {
	// Open returns a new empty store. The suite closes it.
	Open func(t TB) store.Store
	// Reopen closes a store and opens its data again.
	Reopen func(t TB, s store.Store) store.Store
	// Trim makes a revision the oldest one kept. Errors: *store.FutureError,
	// store.ErrClosed.
	Trim func(ctx context.Context, s store.Store, upTo uint64) error
	// Remote says that the values lie in another process, as in etcd: the writes of one
	// transaction have one revision, values are small, and a key below a collection counts as
	// one in it.
	Remote bool
	// Check reports the defects of the store's data; nil for no check.
	Check func(ctx context.Context, s store.Store, report func(problem string)) error
}

// TB is the part of a test that the suite uses; *testing.T and *rapid.T have it.
type TB interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Run runs the suite. The subtests are independent of each other.
func Run(t *testing.T, h Harness) {
	for _, c := range []struct {
		name string
		test func(*testing.T, Harness)
	}{
		{"Empty", testEmpty},
		{"WritesReturnWhatIsStored", testWrites},
		{"RevisionIsSpliced", testSplice},
		{"FunctionDecides", testFunctionDecides},
		{"BadWritesAreRefused", testBadWrites},
		{"SeveralKeys", testSeveralKeys},
		{"SeveralKeysAtOnce", testSeveralKeysAtOnce},
		{"ReadSets", testReadSets},
		{"CollectionsInReadSets", testCollections},
		{"MarksInReadSets", testMarks},
		{"ReadSetsAtOnce", testReadSetsAtOnce},
		{"CollectionsAtOnce", testCollectionsAtOnce},
		{"KeyLockHonoursContext", testKeyLock},
		{"PanicInFunctionFreesTheKey", testPanic},
		{"LargeValues", testLargeValues},
		{"ViewsStandStill", testViews},
		{"ViewsOfManyVersions", testManyVersions},
		{"ScanRanges", testScanRanges},
		{"ScanStops", testScanStops},
		{"EntriesAreNeverChanged", testEntriesKeep},
		{"FutureRevisions", testFuture},
		{"Changes", testChanges},
		{"Subscribe", testSubscribe},
		{"AcknowledgedIsAnnounced", testAnnounced},
		{"WaitFor", testWaitFor},
		{"Trim", testTrim},
		{"TrimmedViewsStayOpen", testTrimOpenView},
		{"Reopen", testReopen},
		{"RevisionsAreNotReused", testNoReuse},
		{"Close", testClose},
		{"RandomOperations", RunRandom},
		{"ConcurrentHistory", testConcurrent},
		{"Linearizable", testLinearizable},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, h) })
	}
}

// open returns a new store that is checked and closed at the end of the test.
func (h Harness) open(t *testing.T) store.Store {
	t.Helper()
	s := h.Open(t)
	t.Cleanup(func() { h.finish(t, s) })
	return s
}

func (h Harness) finish(t TB, s store.Store) {
	t.Helper()
	if h.Check != nil && s.Healthy() == nil {
		if err := h.Check(context.Background(), s, func(problem string) { t.Errorf("check: %s", problem) }); err != nil && err != store.ErrClosed {
			t.Errorf("check: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// Body returns a value whose body holds a number and has a place for the revision:
// {"n":7,"rev":""}.
func Body(n int) store.Value {
	body := fmt.Sprintf(`{"n":%d,"rev":""}`, n)
	return store.Value{Meta: fmt.Appendf(nil, "meta-%d", n), Body: []byte(body), RevisionAt: len(body) - 2}
}

// Number returns the number and the revision in a body that Body made.
func Number(t TB, body []byte) (n int, revision uint64) {
	t.Helper()
	number, rest, ok := strings.Cut(strings.TrimPrefix(string(body), `{"n":`), `,"rev":"`)
	n, err := strconv.Atoi(number)
	revision, err2 := strconv.ParseUint(strings.TrimSuffix(rest, `"}`), 10, 64)
	if !ok || err != nil || err2 != nil {
		t.Fatalf("the body %q is not one of Body's", body)
	}
	return n, revision
}

// Put creates or updates a key with Body(n).
func Put(t TB, s store.Store, key string, n int) store.Entry {
	t.Helper()
	e, err := s.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		if current == nil {
			return store.Write{Op: store.OpCreate, Value: Body(n)}, nil
		}
		return store.Write{Op: store.OpUpdate, Value: Body(n)}, nil
	})
	if err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
	return e
}

// Delete deletes a key, with Body(n) as its final state.
func Delete(t TB, s store.Store, key string, n int) store.Entry {
	t.Helper()
	e, err := s.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		return store.Write{Op: store.OpDelete, Value: Body(n)}, nil
	})
	if err != nil {
		t.Fatalf("delete %q: %v", key, err)
	}
	return e
}

// view opens a view that must exist, calls f and closes it.
func view(t TB, s store.Store, at uint64, f func(store.Reader)) {
	t.Helper()
	r, err := s.At(context.Background(), at)
	if err != nil {
		t.Fatalf("At(%d): %v", at, err)
	}
	f(r)
	if err := r.Close(); err != nil {
		t.Errorf("Reader.Close: %v", err)
	}
}

// Text is an entry in one line, for comparisons: key@revision=meta body.
func Text(e store.Entry) string {
	if e.Key == "" && e.Revision == 0 {
		return "none"
	}
	return fmt.Sprintf("%s@%d=%s %s", e.Key, e.Revision, e.Meta, e.Body)
}

// ChangeText is a change in one line.
func ChangeText(c *store.Change) string {
	op := map[store.Op]string{store.OpCreate: "create", store.OpUpdate: "update", store.OpDelete: "delete"}[c.Op]
	return fmt.Sprintf("%s %s after %s", op, Text(c.Entry), Text(c.Prev))
}

// contents scans a view into lines.
func contents(t TB, r store.Reader, prefix, from string) []string {
	t.Helper()
	lines := []string{}
	err := r.Scan(context.Background(), prefix, from, func(e *store.Entry) bool {
		lines = append(lines, Text(*e))
		return true
	})
	if err != nil {
		t.Fatalf("Scan(%q, %q): %v", prefix, from, err)
	}
	return lines
}

// each reads keys one by one with one iterator into lines.
func each(t TB, r store.Reader, keys ...string) []string {
	t.Helper()
	lines := []string{}
	err := r.GetEach(context.Background(), keys, func(e *store.Entry) bool {
		lines = append(lines, Text(*e))
		return true
	})
	if err != nil {
		t.Fatalf("GetEach(%q): %v", keys, err)
	}
	return lines
}

// headers scans the headers of a view into lines.
func headers(t TB, r store.Reader, prefix, from string) []string {
	t.Helper()
	lines := []string{}
	err := r.ScanMeta(context.Background(), prefix, from, func(e *store.Entry) bool {
		lines = append(lines, Text(*e))
		return true
	})
	if err != nil {
		t.Fatalf("ScanMeta(%q, %q): %v", prefix, from, err)
	}
	return lines
}

// headersOf cuts the bodies off lines of contents.
func headersOf(lines []string) []string {
	cut := make([]string, len(lines))
	for i, line := range lines {
		cut[i] = line[:strings.IndexByte(line, ' ')+1]
	}
	return cut
}

// contentsAt scans the whole store at a revision.
func contentsAt(t TB, s store.Store, at uint64) (lines []string) {
	t.Helper()
	view(t, s, at, func(r store.Reader) { lines = contents(t, r, "", "") })
	return lines
}

// feed reads the changes after a revision into lines.
func feed(t TB, s store.Store, prefix string, after uint64) (lines []string, to uint64) {
	t.Helper()
	lines = []string{}
	to, err := s.Changes(context.Background(), prefix, after, func(c *store.Change) bool {
		lines = append(lines, ChangeText(c))
		return true
	})
	if err != nil {
		t.Fatalf("Changes(%q, %d): %v", prefix, after, err)
	}
	return lines, to
}
