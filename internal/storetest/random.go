package storetest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/capstan-dev/capstan/internal/store"
)

// machine applies the same operations to a store and to the model and compares every
// answer.
type machine struct {
	h     Harness
	s     store.Store
	model *Model
	views []pair // open views at the same revision
	n     int    // makes every body different
	heard []*store.Change
	known int // number of compared entries of heard
}

type pair struct{ got, want store.Reader }

// RunRandom runs only the random lists of operations of the suite. A failing list is
// shrunk; the seed is printed. With CAPSTAN_STRESS set there are many more lists.
func RunRandom(t *testing.T, h Harness) {
	seed, lists := rand.Uint64()|1, "60"
	if os.Getenv("CAPSTAN_STRESS") != "" {
		lists = "600"
	}
	for name, value := range map[string]string{"rapid.seed": strconv.FormatUint(seed, 10), "rapid.checks": lists} {
		f := flag.Lookup(name)
		if f.Value.String() != f.DefValue {
			continue // a seed was requested
		}
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Value.Set(f.DefValue) }()
	}
	t.Logf("run again with -rapid.seed=%s -rapid.checks=%s", flag.Lookup("rapid.seed").Value, flag.Lookup("rapid.checks").Value)
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{h: h, s: h.Open(t), model: NewModel()}
		m.subscribe()
		t.Repeat(map[string]func(*rapid.T){
			"update": m.update,
			"delete": m.remove,
			"view":   m.view,
			"feed":   m.feed,
			"trim":   m.trim,
			"close":  m.closeView,
			"reopen": m.reopen,
			"":       m.check,
		})
		m.closeViews(t)
		h.finish(t, m.s)
	})
}

var keys = rapid.SampledFrom([]string{"a", "a/b", "a/b/c", "a/bc", "a0", "b", "b/\xff", "c"})

func (m *machine) subscribe() {
	m.s.Subscribe(store.Streams, func(b store.Batch) {
		m.heard = append(m.heard, b.Changes...)
	})
}

func (m *machine) update(t *rapid.T) {
	key, op := keys.Draw(t, "key"), store.Op(rapid.IntRange(0, 3).Draw(t, "op"))
	m.n++
	fn := func(current *store.Entry) (store.Write, error) {
		if op == store.OpCreate && current != nil {
			return store.Write{Op: store.OpUpdate, Value: Body(m.n)}, nil
		}
		return store.Write{Op: op, Value: Body(m.n)}, nil // may be refused
	}
	m.both(t, key, fn)
}

func (m *machine) remove(t *rapid.T) {
	m.n++
	m.both(t, keys.Draw(t, "key"), func(current *store.Entry) (store.Write, error) {
		if current == nil {
			return store.Write{}, errRefused
		}
		return store.Write{Op: store.OpDelete, Value: Body(m.n)}, nil
	})
}

func (m *machine) both(t *rapid.T, key string, fn func(*store.Entry) (store.Write, error)) {
	got, err := m.s.Update(context.Background(), key, fn)
	want, wantErr := m.model.Update(context.Background(), key, fn)
	if Text(got) != Text(want) || (err == nil) != (wantErr == nil) {
		t.Fatalf("the write gave %s, %v; expected %s, %v", Text(got), err, Text(want), wantErr)
	}
}

func (m *machine) revision(t *rapid.T) uint64 {
	return rapid.Uint64Range(0, m.model.Current()+1).Draw(t, "revision")
}

func (m *machine) view(t *rapid.T) {
	at := m.revision(t)
	got, err := m.s.At(context.Background(), at)
	want, wantErr := m.model.At(context.Background(), at)
	if outcome(err) != outcome(wantErr) {
		t.Fatalf("At(%d): %s, expected %s", at, outcome(err), outcome(wantErr))
	}
	if err == nil {
		m.views = append(m.views, pair{got, want})
	}
}

func (m *machine) closeView(t *rapid.T) {
	if len(m.views) == 0 {
		t.Skip("no view is open")
	}
	if err := m.views[0].got.Close(); err != nil {
		t.Fatal(err)
	}
	m.views = m.views[1:]
}

func (m *machine) closeViews(t *rapid.T) {
	for len(m.views) > 0 {
		m.closeView(t)
	}
}

func (m *machine) feed(t *rapid.T) {
	after, limit := m.revision(t), rapid.IntRange(1, 20).Draw(t, "limit")
	prefix := rapid.SampledFrom([]string{"", "a", "a/", "c"}).Draw(t, "prefix")
	read := func(s store.Store) (lines []string, text string) {
		to, err := s.Changes(context.Background(), prefix, after, func(c *store.Change) bool {
			lines = append(lines, ChangeText(c))
			return len(lines) < limit
		})
		return lines, fmt.Sprintf("up to %d, %s", to, outcome(err))
	}
	got, gotText := read(m.s)
	want, wantText := read(m.model)
	if diff := cmp.Diff(append(want, wantText), append(got, gotText)); diff != "" {
		t.Fatalf("the feed after %d, expected -, found +:\n%s", after, diff)
	}
}

func (m *machine) trim(t *rapid.T) {
	upTo := m.revision(t)
	err, wantErr := m.h.Trim(context.Background(), m.s, upTo), m.model.Trim(upTo)
	if outcome(err) != outcome(wantErr) {
		t.Fatalf("Trim(%d): %s, expected %s", upTo, outcome(err), outcome(wantErr))
	}
}

func (m *machine) reopen(t *rapid.T) {
	m.closeViews(t)
	m.s = m.h.Reopen(t, m.s)
	m.model = m.model.Reopen()
	m.subscribe()
}

// check runs after every operation.
func (m *machine) check(t *rapid.T) {
	if m.s.Current() != m.model.Current() || m.s.Oldest() != m.model.Oldest() {
		t.Fatalf("Current %d, Oldest %d; expected %d, %d", m.s.Current(), m.s.Oldest(), m.model.Current(), m.model.Oldest())
	}
	view(t, m.s, 0, func(got store.Reader) {
		view(t, m.model, 0, func(want store.Reader) { compareViews(t, pair{got, want}) })
	})
	for _, p := range m.views {
		compareViews(t, p)
	}
	if uint64(len(m.heard)) != m.model.Current() {
		t.Fatalf("%d changes were announced, the newest revision is %d", len(m.heard), m.model.Current())
	}
	for _, c := range m.heard[m.known:] {
		want := m.model.changes[c.Entry.Revision-m.model.oldest-1]
		if ChangeText(c) != ChangeText(want) || c.Entry.Revision != uint64(m.known+1) {
			t.Fatalf("announced: %s, expected %s", ChangeText(c), ChangeText(want))
		}
		m.known++
	}
}

func compareViews(t TB, p pair) {
	t.Helper()
	for _, prefix := range []string{"", "a/"} {
		want := contents(t, p.want, prefix, "")
		if diff := cmp.Diff(want, contents(t, p.got, prefix, "")); diff != "" {
			t.Fatalf("the view at %d, expected -, found +:\n%s", p.want.Revision(), diff)
		}
		if diff := cmp.Diff(headersOf(want), headers(t, p.got, prefix, "")); diff != "" {
			t.Fatalf("headers at %d, expected -, found +:\n%s", p.want.Revision(), diff)
		}
	}
	for _, key := range []string{"a", "a/b", "c", "none"} {
		got, err := p.got.Get(key)
		want, wantErr := p.want.Get(key)
		if Text(got) != Text(want) || outcome(err) != outcome(wantErr) {
			t.Fatalf("Get(%s) at %d: %s, %v; expected %s, %v", key, p.want.Revision(), Text(got), err, Text(want), wantErr)
		}
	}
}

// outcome is an error without the parts that may differ between engines.
func outcome(err error) string {
	var trimmed *store.TrimmedError
	var future *store.FutureError
	switch {
	case err == nil:
		return "done"
	case errors.As(err, &trimmed), errors.As(err, &future):
		return err.Error()
	case errors.Is(err, store.ErrNotFound):
		return "not found"
	}
	return "refused"
}
