package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/store"
)

func testTrim(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	all := story(t, s)
	before := map[uint64][]string{}
	for revision := uint64(1); revision <= 6; revision++ {
		before[revision] = contentsAt(t, s, revision)
	}
	for _, upTo := range []uint64{1, 3, 2, 4, 4, 6} {
		oldest := max(upTo, s.Oldest())
		if err := h.Trim(ctx, s, upTo); err != nil {
			t.Fatalf("Trim(%d): %v", upTo, err)
		}
		if s.Oldest() != oldest || s.Current() != 6 {
			t.Fatalf("after Trim(%d): Oldest %d, Current %d; expected %d, 6", upTo, s.Oldest(), s.Current(), oldest)
		}
		for revision := uint64(1); revision <= 6; revision++ {
			var trimmed *store.TrimmedError
			if revision >= oldest {
				if diff := cmp.Diff(before[revision], contentsAt(t, s, revision)); diff != "" {
					t.Errorf("trimming to %d changed the view at %d: before -, now +:\n%s", upTo, revision, diff)
				}
				got, _ := feed(t, s, "", revision)
				if diff := cmp.Diff(all[revision:], got); diff != "" {
					t.Errorf("trimming to %d changed the feed after %d: before -, now +:\n%s", upTo, revision, diff)
				}
				continue
			}
			want := store.TrimmedError{Asked: revision, Oldest: oldest}
			if _, err := s.At(ctx, revision); !errors.As(err, &trimmed) || *trimmed != want {
				t.Errorf("At(%d) after Trim(%d): %v", revision, upTo, err)
			}
			if _, err := s.Changes(ctx, "", revision, func(*store.Change) bool { return true }); !errors.As(err, &trimmed) || *trimmed != want {
				t.Errorf("Changes after %d after Trim(%d): %v", revision, upTo, err)
			}
		}
	}
	var future *store.FutureError
	if err := h.Trim(ctx, s, 7); !errors.As(err, &future) {
		t.Errorf("Trim of the future: %v", err)
	}
	if got := Put(t, s, "a/x", 7).Revision; got != 7 {
		t.Errorf("the next write has revision %d, expected 7", got)
	}
}

func testTrimOpenView(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	story(t, s)
	r, err := s.At(ctx, 3)
	if err != nil {
		t.Fatal(err)
	}
	want := contents(t, r, "", "")
	if err := h.Trim(ctx, s, 6); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, contents(t, r, "", "")); diff != "" {
		t.Errorf("trimming changed an open view: before -, now +:\n%s", diff)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func testReopen(t *testing.T, h Harness) {
	s := h.Open(t)
	all := story(t, s)
	before := contentsAt(t, s, 0)
	s = h.Reopen(t, s)
	if s.Current() != 6 || s.Oldest() != 0 {
		t.Errorf("Current %d, Oldest %d after reopening; expected 6, 0", s.Current(), s.Oldest())
	}
	if diff := cmp.Diff(before, contentsAt(t, s, 0)); diff != "" {
		t.Errorf("reopening changed the contents: before -, now +:\n%s", diff)
	}
	got, _ := feed(t, s, "", 0)
	if diff := cmp.Diff(all, got); diff != "" {
		t.Errorf("reopening changed the feed: before -, now +:\n%s", diff)
	}
	if err := h.Trim(context.Background(), s, 4); err != nil {
		t.Fatal(err)
	}
	s = h.Reopen(t, s)
	defer h.finish(t, s)
	if s.Current() != 6 || s.Oldest() != 4 {
		t.Errorf("Current %d, Oldest %d after trimming and reopening; expected 6, 4", s.Current(), s.Oldest())
	}
	if got := Put(t, s, "a/x", 7); Text(got) != `a/x@7=meta-7 {"n":7,"rev":"7"}` {
		t.Errorf("the first write after reopening is %s", Text(got))
	}
}

// The newest revision is in no object any more, only in the store's own settings.
func testNoReuse(t *testing.T, h Harness) {
	s, ctx := h.Open(t), context.Background()
	for i := range 5 {
		Put(t, s, "a", i)
		Delete(t, s, "a", i)
	}
	if err := h.Trim(ctx, s, 10); err != nil {
		t.Fatal(err)
	}
	for want := uint64(11); want < 14; want++ {
		s = h.Reopen(t, s)
		if got := Put(t, s, "a", 1).Revision; got != want {
			t.Fatalf("the write after reopening has revision %d, expected %d", got, want)
		}
		if err := h.Trim(ctx, s, want); err != nil {
			t.Fatal(err)
		}
	}
	h.finish(t, s)
}

func testClose(t *testing.T, h Harness) {
	s, ctx := h.Open(t), context.Background()
	Put(t, s, "a", 1)
	r, err := s.At(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- s.WaitFor(ctx, 99) }()
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatalf("Close: %v", err)
		}
	}
	for name, call := range map[string]func() error{
		"At":      func() error { _, err := s.At(ctx, 0); return err },
		"Get":     func() error { _, err := s.Get(ctx, "a"); return err },
		"Changes": func() error { _, err := s.Changes(ctx, "", 0, nil); return err },
		"Trim":    func() error { return h.Trim(ctx, s, 1) },
		"Update": func() error {
			_, err := s.Update(ctx, "a", func(*store.Entry) (store.Write, error) { t.Error("the function ran"); return store.Write{}, nil })
			return err
		},
		"Reader.Get":  func() error { _, err := r.Get("a"); return err },
		"Reader.Scan": func() error { return r.Scan(ctx, "", "", func(*store.Entry) bool { return true }) },
		"WaitFor":     func() error { return s.WaitFor(ctx, 99) },
		"an old wait": func() error { return <-waiting },
	} {
		if err := call(); !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close: %v, expected ErrClosed", name, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Errorf("closing a view after the store: %v", err)
	}
}
