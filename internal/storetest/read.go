package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/store"
)

func testViews(t *testing.T, h Harness) {
	s := h.open(t)
	Put(t, s, "a", 1)
	Put(t, s, "b", 2)
	early, err := s.At(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	Put(t, s, "a", 3)
	Delete(t, s, "b", 4)
	Put(t, s, "c", 5)
	Put(t, s, "b", 6)
	at := map[uint64][]string{
		1: {`a@1=meta-1 {"n":1,"rev":"1"}`},
		2: {`a@1=meta-1 {"n":1,"rev":"1"}`, `b@2=meta-2 {"n":2,"rev":"2"}`},
		3: {`a@3=meta-3 {"n":3,"rev":"3"}`, `b@2=meta-2 {"n":2,"rev":"2"}`},
		4: {`a@3=meta-3 {"n":3,"rev":"3"}`},
		5: {`a@3=meta-3 {"n":3,"rev":"3"}`, `c@5=meta-5 {"n":5,"rev":"5"}`},
		6: {`a@3=meta-3 {"n":3,"rev":"3"}`, `b@6=meta-6 {"n":6,"rev":"6"}`, `c@5=meta-5 {"n":5,"rev":"5"}`},
	}
	for revision, want := range at {
		view(t, s, revision, func(r store.Reader) { checkView(t, r, revision, want) })
	}
	checkView(t, early, 2, at[2])
	if err := early.Close(); err != nil {
		t.Error(err)
	}
	if _, err := early.Get("a"); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Get of a closed view: %v, expected ErrClosed", err)
	}
	if err := early.Scan(context.Background(), "", "", func(*store.Entry) bool { return true }); !errors.Is(err, store.ErrClosed) {
		t.Errorf("Scan of a closed view: %v, expected ErrClosed", err)
	}
	view(t, s, 0, func(r store.Reader) { checkView(t, r, 6, at[6]) })
}

// checkView compares every way to read a view of keys a, b and c.
func checkView(t *testing.T, r store.Reader, revision uint64, want []string) {
	t.Helper()
	if r.Revision() != revision {
		t.Errorf("the view is at %d, expected %d", r.Revision(), revision)
	}
	if diff := cmp.Diff(want, contents(t, r, "", "")); diff != "" {
		t.Errorf("at %d, expected -, found +:\n%s", revision, diff)
	}
	if diff := cmp.Diff(want, each(t, r, "a", "b", "c", "nosuch")); diff != "" {
		t.Errorf("GetEach at %d, expected -, found +:\n%s", revision, diff)
	}
	if diff := cmp.Diff(headersOf(want), headers(t, r, "", "")); diff != "" {
		t.Errorf("headers at %d, expected -, found +:\n%s", revision, diff)
	}
	if n, err := r.Count(context.Background(), "", ""); n != int64(len(want)) || err != nil {
		t.Errorf("at %d: Count %d, %v; expected %d", revision, n, err, len(want))
	}
	for _, key := range []string{"a", "b", "c"} {
		i := slices.IndexFunc(want, func(line string) bool { return line[:1] == key })
		e, err := r.Get(key)
		switch {
		case i < 0 && !errors.Is(err, store.ErrNotFound):
			t.Errorf("at %d: Get(%s) gave %s, %v; expected ErrNotFound", revision, key, Text(e), err)
		case i >= 0 && (err != nil || Text(e) != want[i]):
			t.Errorf("at %d: Get(%s) gave %s, %v; expected %s", revision, key, Text(e), err, want[i])
		}
	}
}

// A key with many versions between keys with few: a view finds the right version however
// many it has to skip on either side.
func testManyVersions(t *testing.T, h Harness) {
	s := h.open(t)
	Put(t, s, "a", 0)
	const versions = 200
	for i := range versions {
		Put(t, s, "m", i)
	}
	Put(t, s, "z", 0)
	for i := range versions {
		Put(t, s, "m", versions+i)
	}
	for _, revision := range []uint64{1, 2, 3, 4, 5, 6, 7, 50, 201, 202, 203, 204, 205, 206, 300, 402} {
		want := []string{"a"}
		if revision > 1 {
			want = append(want, "m")
		}
		if revision > 201 {
			want = append(want, "z")
		}
		view(t, s, revision, func(r store.Reader) {
			var got []string
			err := r.Scan(context.Background(), "", "", func(e *store.Entry) bool {
				got = append(got, e.Key)
				if e.Key == "m" && e.Revision != revision && !(revision == 202 && e.Revision == 201) {
					t.Errorf("at %d: m is of %d", revision, e.Revision)
				}
				return true
			})
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("at %d: %q, %v; expected %q", revision, got, err, want)
			}
		})
	}
}

func testScanRanges(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	keys := []string{"a", "a/b", "a/b\x01", "a/b-c", "a/bc", "a/c", "a0", "b", "b\xff", "\xff", "\xff\xff"}
	for i, key := range keys {
		Put(t, s, key, i)
	}
	Put(t, s, "a/gone", 0)
	Delete(t, s, "a/gone", 0)
	slices.Sort(keys)
	view(t, s, 0, func(r store.Reader) {
		for _, prefix := range append([]string{"", "a/", "a/b\x00", "c"}, keys...) {
			for _, from := range append([]string{"", "a/b\x00", "a/b\x00z", "a/", "zz"}, keys...) {
				want := []string{}
				for _, key := range keys {
					if len(key) >= len(prefix) && key[:len(prefix)] == prefix && key >= from {
						want = append(want, key)
					}
				}
				got := []string{}
				err := r.Scan(ctx, prefix, from, func(e *store.Entry) bool { got = append(got, e.Key); return true })
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("Scan(%q, %q) gave %q, %v; expected %q", prefix, from, got, err, want)
				}
				got = got[:0]
				err = r.ScanMeta(ctx, prefix, from, func(e *store.Entry) bool { got = append(got, e.Key); return true })
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("ScanMeta(%q, %q) gave %q, %v; expected %q", prefix, from, got, err, want)
				}
				if n, err := r.Count(ctx, prefix, from); err != nil || n != int64(len(want)) {
					t.Errorf("Count(%q, %q) gave %d, %v; expected %d", prefix, from, n, err, len(want))
				}
			}
		}
	})
}

func testScanStops(t *testing.T, h Harness) {
	s := h.open(t)
	const n = 2000
	for i := range n {
		Put(t, s, fmt.Sprintf("k%04d", i), i)
	}
	view(t, s, 0, func(r store.Reader) {
		visited := 0
		err := r.Scan(context.Background(), "k", "k0100", func(e *store.Entry) bool { visited++; return e.Key != "k0102" })
		if err != nil || visited != 3 {
			t.Errorf("a scan that was stopped visited %d, %v; expected 3", visited, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		visited = 0
		err = r.Scan(ctx, "", "", func(*store.Entry) bool {
			if visited++; visited == 10 {
				cancel()
			}
			return true
		})
		if !errors.Is(err, context.Canceled) || visited == n {
			t.Errorf("a cancelled scan visited %d, %v", visited, err)
		}
		if _, err := r.Count(ctx, "", ""); !errors.Is(err, context.Canceled) {
			t.Errorf("Count with a cancelled context: %v", err)
		}
	})
}

func testEntriesKeep(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	written := Put(t, s, "a", 1)
	read, err := s.Get(ctx, "a")
	if err != nil {
		t.Fatal(err)
	}
	want := Text(written)
	var keys []string
	for i := range 500 {
		Put(t, s, "a", i)
		Put(t, s, fmt.Sprintf("b%03d", i), i)
	}
	view(t, s, 0, func(r store.Reader) {
		err := r.Scan(ctx, "b", "", func(e *store.Entry) bool { keys = append(keys, e.Key); return true })
		if err != nil {
			t.Error(err)
		}
	})
	for i, key := range keys {
		if want := fmt.Sprintf("b%03d", i); key != want {
			t.Fatalf("a key kept from a scan is %q, expected %q", key, want)
		}
	}
	if Text(written) != want || Text(read) != want {
		t.Errorf("entries changed to %s and %s, expected %s", Text(written), Text(read), want)
	}
}

func testFuture(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	Put(t, s, "a", 1)
	var future *store.FutureError
	if _, err := s.At(ctx, 2); !errors.As(err, &future) || *future != (store.FutureError{Asked: 2, Current: 1}) {
		t.Errorf("At(2): %v", err)
	}
	to, err := s.Changes(ctx, "", 9, func(*store.Change) bool { t.Error("a change from the future"); return true })
	if err != nil || to != 9 {
		t.Errorf("Changes after 9: up to %d, %v; expected 9, because nothing up to it is missing", to, err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.At(cancelled, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("At with a cancelled context: %v", err)
	}
	if _, err := s.Get(cancelled, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("Get with a cancelled context: %v", err)
	}
}
