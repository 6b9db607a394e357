package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capstan-dev/capstan/internal/store"
)

// story writes six changes and returns them as the feed should show them.
func story(t *testing.T, s store.Store) []string {
	t.Helper()
	Put(t, s, "a/x", 1)
	Put(t, s, "b/x", 2)
	Put(t, s, "a/x", 3)
	Delete(t, s, "a/x", 4)
	Put(t, s, "a/x", 5)
	Put(t, s, "a/y", 6)
	return []string{
		`create a/x@1=meta-1 {"n":1,"rev":"1"} after none`,
		`create b/x@2=meta-2 {"n":2,"rev":"2"} after none`,
		`update a/x@3=meta-3 {"n":3,"rev":"3"} after a/x@1=meta-1 {"n":1,"rev":"1"}`,
		`delete a/x@4=meta-4 {"n":4,"rev":"4"} after a/x@3=meta-3 {"n":3,"rev":"3"}`,
		`create a/x@5=meta-5 {"n":5,"rev":"5"} after none`,
		`create a/y@6=meta-6 {"n":6,"rev":"6"} after none`,
	}
}

func testChanges(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	all := story(t, s)
	for after := range all {
		got, to := feed(t, s, "", uint64(after))
		if diff := cmp.Diff(all[after:], got); diff != "" || to != 6 {
			t.Errorf("after %d up to %d, expected -, found +:\n%s", after, to, diff)
		}
	}
	got, to := feed(t, s, "b/", 0)
	if diff := cmp.Diff(all[1:2], got); diff != "" || to != 6 {
		t.Errorf("with a prefix up to %d, expected up to 6 -, found +:\n%s", to, diff)
	}
	visited := 0
	to, err := s.Changes(ctx, "a/", 0, func(*store.Change) bool { visited++; return visited < 2 })
	if to != 3 || err != nil || visited != 2 {
		t.Errorf("a feed that was stopped visited %d up to %d, %v; expected 2 up to 3", visited, to, err)
	}
	if got, to := feed(t, s, "", 6); len(got) != 0 || to != 6 {
		t.Errorf("after the newest: %q up to %d", got, to)
	}
}

func testSubscribe(t *testing.T, h Harness) {
	s := h.open(t)
	Put(t, s, "before", 0)
	var got []string
	collect := func(b store.Batch) {
		if len(b.Changes) == 0 {
			return // the revision moved on
		}
		if last := b.Changes[len(b.Changes)-1].Entry.Revision; last != b.Revision || b.Gap {
			t.Errorf("a batch up to %d ends at %d; gap: %t", b.Revision, last, b.Gap)
		}
		for _, c := range b.Changes {
			got = append(got, ChangeText(c))
		}
	}
	current, cancel := s.Subscribe(store.Streams, collect)
	if current != 1 {
		t.Errorf("Subscribe begins after %d, expected 1", current)
	}
	_, endState := s.Subscribe(store.States, func(b store.Batch) {
		if len(b.Changes) == 0 {
			return
		}
		if got = append(got, "state"); len(got)%2 == 0 {
			t.Errorf("a stream is called before a state, whose subscription is younger: %q", got)
		}
	})
	defer endState()
	Put(t, s, "a", 1)
	if len(got) != 2 {
		t.Errorf("Update returned when %d changes were announced, expected its own, twice", len(got))
	}
	Delete(t, s, "a", 2)
	cancel()
	endState()
	Put(t, s, "after", 3)
	cancel() // again, without harm
	want := []string{
		"state",
		`create a@2=meta-1 {"n":1,"rev":"2"} after none`,
		"state",
		`delete a@3=meta-2 {"n":2,"rev":"3"} after a@2=meta-1 {"n":1,"rev":"2"}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("announced, expected -, found +:\n%s", diff)
	}
}

// testAnnounced has a subscription that takes its time: Update waits for it.
func testAnnounced(t *testing.T, h Harness) {
	s := h.open(t)
	var announced atomic.Uint64
	_, cancel := s.Subscribe(store.States, func(b store.Batch) {
		<-time.After(10 * time.Millisecond)
		announced.Store(b.Revision)
	})
	defer cancel()
	for n := range 10 {
		if written, got := Put(t, s, "a", n), announced.Load(); got < written.Revision {
			t.Errorf("revision %d was acknowledged when %d was announced", written.Revision, got)
		}
	}
}

func testWaitFor(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	Put(t, s, "a", 1)
	if err := s.WaitFor(ctx, 1); err != nil {
		t.Errorf("waiting for the past: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.WaitFor(cancelled, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled wait: %v", err)
	}
	reached := make(chan error, 2)
	for revision := range uint64(2) {
		go func() {
			err := s.WaitFor(ctx, 2+revision)
			if current := s.Current(); err == nil && current < 2+revision {
				t.Errorf("WaitFor(%d) returned at %d", 2+revision, current)
			}
			reached <- err
		}()
	}
	Put(t, s, "a", 2)
	Put(t, s, "a", 3)
	for range 2 {
		if err := <-reached; err != nil {
			t.Errorf("WaitFor: %v", err)
		}
	}
}
