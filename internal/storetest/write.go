package storetest

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

func testEmpty(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	if s.Current() != 0 || s.Oldest() != 0 {
		t.Errorf("Current %d, Oldest %d; expected 0, 0", s.Current(), s.Oldest())
	}
	if _, err := s.Get(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get: %v, expected ErrNotFound", err)
	}
	if lines := contentsAt(t, s, 0); len(lines) != 0 {
		t.Errorf("Scan found %q", lines)
	}
	if lines, to := feed(t, s, "", 0); len(lines) != 0 || to != 0 {
		t.Errorf("Changes found %q up to %d", lines, to)
	}
	if err := s.Healthy(); err != nil {
		t.Errorf("Healthy: %v", err)
	}
}

func testWrites(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	for i, want := range []string{
		`a@1=meta-10 {"n":10,"rev":"1"}`,
		`a@2=meta-11 {"n":11,"rev":"2"}`,
		`b@3=meta-12 {"n":12,"rev":"3"}`,
	} {
		key := want[:1]
		e := Put(t, s, key, 10+i)
		if got := Text(e); got != want {
			t.Errorf("Update returned %s, expected %s", got, want)
		}
		e, err := s.Get(ctx, key)
		if got := Text(e); err != nil || got != want || e.RevisionAt >= 0 {
			t.Errorf("Get returned %s (RevisionAt %d), %v; expected %s", got, e.RevisionAt, err, want)
		}
	}
	want := `a@4=meta-13 {"n":13,"rev":"4"}`
	if got := Text(Delete(t, s, "a", 13)); got != want {
		t.Errorf("a deletion returned %s, expected the final state %s", got, want)
	}
	if _, err := s.Get(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of a deleted key: %v, expected ErrNotFound", err)
	}
	if got := Put(t, s, "a", 14).Revision; got != 5 || s.Current() != 5 {
		t.Errorf("creating again gave revision %d, Current %d; expected 5", got, s.Current())
	}
}

func testSplice(t *testing.T, h Harness) {
	s := h.open(t)
	for range 9 { // so that the number of digits changes on the way
		Put(t, s, "filler", 0)
	}
	for _, c := range []struct {
		body string
		at   int
		want string
	}{
		{`{"v":""}`, 6, `{"v":"10"}`},
		{`tail`, 4, `tail11`},
		{`head`, 0, `12head`},
		{`none`, -1, `none`},
		{``, 0, `14`},
		{``, -1, ``},
	} {
		if h.Remote && c.at >= 0 && c.at != 6 {
			continue // its form has the revision in quotes
		}
		input := []byte(c.body)
		e, err := s.Update(context.Background(), "key"+c.want, func(*store.Entry) (store.Write, error) {
			return store.Write{Op: store.OpCreate, Value: store.Value{Body: input, RevisionAt: c.at}}, nil
		})
		if err != nil || string(e.Body) != c.want {
			t.Errorf("%q at %d became %q, %v; expected %q", c.body, c.at, e.Body, err, c.want)
		}
		if string(input) != c.body {
			t.Errorf("the caller's bytes %q were changed to %q", c.body, input)
		}
	}
}

var errRefused = errors.New("refused by the function")

func testFunctionDecides(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	Put(t, s, "a", 1)
	calls := 0
	_, err := s.Update(ctx, "a", func(current *store.Entry) (store.Write, error) {
		calls++
		if current == nil || Text(*current) != `a@1=meta-1 {"n":1,"rev":"1"}` {
			t.Errorf("the function was given %v", current)
		}
		return store.Write{Op: store.OpDelete}, errRefused
	})
	if err != errRefused || calls == 0 {
		t.Errorf("Update returned %v after %d calls, expected the function's error itself", err, calls)
	}
	e, err := s.Update(ctx, "a", func(*store.Entry) (store.Write, error) { return store.Write{}, nil })
	if err != nil || e.Revision != 1 {
		t.Errorf("a write of nothing returned %s, %v; expected the current entry", Text(e), err)
	}
	e, err = s.Update(ctx, "b", func(current *store.Entry) (store.Write, error) {
		if current != nil {
			t.Errorf("the function was given %s for a key that does not exist", Text(*current))
		}
		return store.Write{}, nil
	})
	if err != nil || Text(e) != "none" {
		t.Errorf("a write of nothing to nothing returned %s, %v", Text(e), err)
	}
	if s.Current() != 1 {
		t.Errorf("Current is %d, nothing was written since 1", s.Current())
	}
}

func testBadWrites(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	Put(t, s, "there", 1)
	for _, c := range []struct {
		name, key string
		write     store.Write
	}{
		{"empty key", "", store.Write{Op: store.OpCreate, Value: Body(1)}},
		{"zero byte in the key", "a\x00b", store.Write{Op: store.OpCreate, Value: Body(1)}},
		{"create of what exists", "there", store.Write{Op: store.OpCreate, Value: Body(1)}},
		{"update of nothing", "missing", store.Write{Op: store.OpUpdate, Value: Body(1)}},
		{"delete of nothing", "missing", store.Write{Op: store.OpDelete, Value: Body(1)}},
		{"unknown operation", "missing", store.Write{Op: 77, Value: Body(1)}},
		{"revision beyond the body", "missing", store.Write{Op: store.OpCreate, Value: store.Value{Body: []byte("{}"), RevisionAt: 3}}},
	} {
		if _, err := s.Update(ctx, c.key, func(*store.Entry) (store.Write, error) { return c.write, nil }); err == nil {
			t.Errorf("%s: accepted", c.name)
		}
	}
	if _, err := s.Get(ctx, "a\x00b"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Get of an impossible key: %v, expected ErrNotFound", err)
	}
	if s.Current() != 1 {
		t.Errorf("Current is %d, nothing was written since 1", s.Current())
	}
	Put(t, s, "missing", 2)
}

func testKeyLock(t *testing.T, h Harness) {
	s := h.open(t)
	inside, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		enter := sync.OnceFunc(func() { close(inside) })
		_, err := s.Update(context.Background(), "a", func(*store.Entry) (store.Write, error) {
			enter()
			<-release
			return store.Write{Op: store.OpCreate, Value: Body(1)}, nil
		})
		done <- err
	}()
	<-inside
	ctx, cancel := context.WithCancel(context.Background())
	waiting := make(chan error, 1)
	go func() {
		_, err := s.Update(ctx, "a", func(*store.Entry) (store.Write, error) {
			t.Error("the function ran although another one held the key")
			return store.Write{}, nil
		})
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled writer got %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := Put(t, s, "a", 2).Revision; got != 2 {
		t.Errorf("the next write has revision %d, expected 2", got)
	}
}

func testPanic(t *testing.T, h Harness) {
	s := h.open(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the function's panic was swallowed")
			}
		}()
		_, _ = s.Update(context.Background(), "a", func(*store.Entry) (store.Write, error) { panic("in the function") })
	}()
	if got := Put(t, s, "a", 1).Revision; got != 1 {
		t.Errorf("the next write has revision %d, expected 1", got)
	}
}

func testLargeValues(t *testing.T, h Harness) {
	s, ctx := h.open(t), context.Background()
	sizes := map[string]int{"a": 3 << 20, "b": 9 << 20, "c": 0}
	if h.Remote {
		sizes = map[string]int{"a": 1 << 20, "b": 1<<20 + 1<<18, "c": 0}
	}
	for key, size := range sizes {
		_, err := s.Update(ctx, key, func(*store.Entry) (store.Write, error) {
			return store.Write{Op: store.OpCreate, Value: store.Value{Body: bytes.Repeat([]byte(key), size), RevisionAt: -1}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s = h.Reopen(t, s)
	defer h.finish(t, s)
	for key, size := range sizes {
		e, err := s.Get(ctx, key)
		if err != nil || !bytes.Equal(e.Body, bytes.Repeat([]byte(key), size)) {
			t.Errorf("%s: %d bytes came back, %v; expected %d", key, len(e.Body), err, size)
		}
	}
}
