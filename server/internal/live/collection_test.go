package live

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/store"
)

// number is the value of the objects in these tests, whose body is its digits.
type number int

// world is a store in memory with collections of it.
type world struct {
	testing.TB
	store *store.Engine
	fs    vfs.FS
}

func newWorld(t testing.TB) *world {
	w := &world{TB: t, fs: vfs.NewMem()}
	w.open()
	t.Cleanup(w.close)
	return w
}

func (w *world) open() {
	s, err := store.Open(store.Config{Dir: "data", FS: w.fs})
	if err != nil {
		w.Fatal(err)
	}
	w.store = s
}

func (w *world) close() {
	if err := w.store.Close(); err != nil {
		w.Error(err)
	}
}

func (w *world) write(op store.Op, key, body string) uint64 {
	e, err := w.store.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		switch {
		case op == store.OpDelete && current == nil:
			return store.Write{}, nil
		case op == store.OpUpdate && current == nil:
			return store.Write{Op: store.OpCreate, Value: store.Value{Body: []byte(body), RevisionAt: -1}}, nil
		}
		return store.Write{Op: op, Value: store.Value{Body: []byte(body), RevisionAt: -1}}, nil
	})
	if err != nil {
		w.Error(err)
	}
	return e.Revision
}

func (w *world) put(key string, n int) uint64 {
	return w.write(store.OpUpdate, key, strconv.Itoa(n))
}

func (w *world) remove(key string) uint64 { return w.write(store.OpDelete, key, "gone") }

func decode(e *store.Entry) (*number, error) {
	n, err := strconv.Atoi(string(e.Body))
	if n < 0 {
		return nil, nil
	}
	return (*number)(&n), err
}

func (w *world) collect(prefixes ...string) *Collection[*number] {
	c, err := Open(context.Background(), Config[*number]{Store: w.store, Prefixes: prefixes, Decode: decode, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.Close)
	return c
}

func text(v View[*number]) string {
	var b strings.Builder
	for key, n := range v.Under("") {
		fmt.Fprintf(&b, "%s=%d ", key, *n)
	}
	return b.String()
}

// TestWaiting: a wait ends when its condition holds, with its context, and when the
// collection is closed.
func TestWaiting(t *testing.T) {
	w := newWorld(t)
	c := w.collect("a/")
	ctx := context.Background()
	begin := w.put("a/1", 1)
	seen, err := c.Next(ctx, View[*number]{})
	if err != nil || text(seen) != "a/1=1 " || seen.Revision() != begin {
		t.Fatalf("first %s at %d, %v", text(seen), seen.Revision(), err)
	}
	ended, cancel := context.WithCancel(ctx)
	answers := make(chan error, 2)
	wait := func(ctx context.Context) {
		go func() { _, err := c.Next(ctx, seen); answers <- err }()
		go func() { _, err := c.AtLeast(ctx, begin+2); answers <- err }()
	}
	wait(ended)
	w.put("b/1", 1)
	cancel()
	if first, second := <-answers, <-answers; !errors.Is(first, context.Canceled) || !errors.Is(second, context.Canceled) {
		t.Errorf("waits ended with %v and %v, want the context's", first, second)
	}
	wait(ctx)
	w.remove("a/1")
	w.put("b/2", 2)
	if first, second := <-answers, <-answers; first != nil || second != nil {
		t.Errorf("waits for what came ended with %v and %v", first, second)
	}
	if seen, err = c.AtLeast(ended, begin+2); err != nil || text(seen) != "" {
		t.Errorf("what is there already: %s, %v", text(seen), err)
	}
	begin = w.store.Current()
	wait(ctx)
	c.Close()
	if first, second := <-answers, <-answers; !errors.Is(first, store.ErrClosed) || !errors.Is(second, store.ErrClosed) {
		t.Errorf("waits ended with %v and %v, want those of what is closed", first, second)
	}
	w.put("a/3", 3)
	if got := text(c.View()); got != "" {
		t.Errorf("after Close: %s", got)
	}
}

// TestRestart: a restart, trimming, or a view in use loses nothing.
func TestRestart(t *testing.T) {
	w := newWorld(t)
	c := w.collect("a/")
	for i := range 200 {
		w.put("a/"+strconv.Itoa(i%50), i)
	}
	for i := range 10 {
		w.remove("a/" + strconv.Itoa(i*5))
	}
	before := c.View()
	if err := w.store.Trim(context.Background(), w.store.Current()); err != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"trimmed", "opened again"} {
		again := w.collect("a/").View()
		if text(again) != text(before) || again.Revision() != before.Revision() || strings.Count(text(again), "=") != 40 {
			t.Errorf("%s: %s at %d, want %s at %d", when, text(again), again.Revision(), text(before), before.Revision())
		}
		c.Close()
		w.close()
		w.open()
	}
	c = w.collect("a/")
	held := text(before)
	w.put("a/new", 1)
	if got := text(c.View()); text(before) != held || got != held+"a/new=1 " {
		t.Errorf("a view became %s, and the next %s, of %s", text(before), got, held)
	}
}

// TestUnreadable: an object that cannot be read is logged and left out until it changes.
func TestUnreadable(t *testing.T) {
	w := newWorld(t)
	w.write(store.OpUpdate, "a/old", "what")
	w.put("a/fine", 1)
	var log bytes.Buffer
	c, err := Open(context.Background(), Config[*number]{Store: w.store, Prefixes: []string{"a/"}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Decode: func(e *store.Entry) (*number, error) {
			if string(e.Body) == "panic" {
				panic("bad object")
			}
			return decode(e)
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	w.put("a/new", 2)
	w.put("a/out", -1)
	first := c.View()
	w.write(store.OpUpdate, "a/new", "panic")
	w.put("a/old", 3)
	w.put("a/fine", 4)
	if first, now := text(first), text(c.View()); first != "a/fine=1 a/new=2 " || now != "a/fine=4 a/old=3 " {
		t.Errorf("first %s, then %s", first, now)
	}
	var since []string
	for c := range c.View().Since(first) {
		since = append(since, fmt.Sprintf("%s %t %t", c.Key, c.Before != nil, c.After != nil))
	}
	if got := strings.Join(since, ", "); got != "a/fine true true, a/old false true, a/new true false" {
		t.Errorf("between: %s", got)
	}
	if got := log.String(); strings.Count(got, "level=ERROR") != 2 || !strings.Contains(got, "key=a/old") || !strings.Contains(got, "panic: bad object") {
		t.Errorf("logged: %s", got)
	}
}

// TestOpenFails: a store that cannot be read has no subscription left.
func TestOpenFails(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	c, err := Open(ctx, Config[*number]{Store: w.store, Prefixes: []string{"a/"}, Decode: func(*store.Entry) (*number, error) {
		t.Error("a change was shown to a collection that is not there")
		return nil, nil
	}})
	if c != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", c, err)
	}
	w.put("a/1", 1)
}

func BenchmarkRead(b *testing.B) {
	w := newWorld(b)
	for i := range 10_000 {
		w.put(fmt.Sprintf("a/namespace-%d/role-%d", i%100, i), i)
	}
	c := w.collect("a/")
	sum := Derive(c, total)
	b.Run("object", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if c.View().Get("a/namespace-77/role-7777") == nil {
				b.Fatal("it is not there")
			}
		}
	})
	b.Run("index", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if sum.Of(c.View()) == 0 {
				b.Fatal("there is no sum")
			}
		}
	})
	b.Run("change", func(b *testing.B) {
		b.ReportAllocs()
		e := &store.Entry{Key: "a/namespace-77/role-7777", Revision: 1 << 40, Value: store.Value{Body: []byte("7")}}
		for b.Loop() {
			e.Revision++
			c.publish(store.Batch{Changes: []*store.Change{{Op: store.OpUpdate, Entry: *e}}, Revision: e.Revision})
		}
	})
	b.Run("other change", func(b *testing.B) {
		b.ReportAllocs()
		batch := store.Batch{Changes: []*store.Change{{Op: store.OpUpdate, Entry: store.Entry{Key: "b/namespace-77/role-7777", Revision: 1 << 41}}}, Revision: 1 << 41}
		for b.Loop() {
			c.publish(batch)
		}
	})
}
