package background

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/store"
)

// kept lists the keys in the store, separated by spaces.
func kept(t *testing.T, s store.Store) string {
	t.Helper()
	r, err := s.At(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var keys []string
	if err := r.ScanMeta(context.Background(), "", "", func(e *store.Entry) bool { keys = append(keys, strings.Clone(e.Key)); return true }); err != nil {
		t.Fatal(err)
	}
	return strings.Join(keys, " ")
}

func open(t *testing.T) (s store.Store, write func(keys ...string)) {
	t.Helper()
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			if _, err := s.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
				op := store.OpUpdate
				if current == nil {
					op = store.OpCreate
				}
				return store.Write{Op: op, Value: store.Value{Body: []byte("x"), RevisionAt: -1}}, nil
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// remover removes an object that was not written since a revision.
func remover(s store.Store) func(ctx context.Context, key string, since uint64) error {
	return func(ctx context.Context, key string, since uint64) error {
		_, err := s.Update(ctx, key, func(current *store.Entry) (store.Write, error) {
			if current == nil || current.Revision > since {
				return store.Write{}, nil
			}
			return store.Write{Op: store.OpDelete, Value: store.Value{Meta: current.Meta, Body: current.Body, RevisionAt: -1}}, nil
		})
		return err
	}
}

// An object expires a lifetime after its last write, others stay.
func TestExpiry(t *testing.T) {
	s, write := open(t)
	x := newExpiry(expiryConfig{Store: s, Prefixes: []string{"e/", "f/"}, Life: time.Hour, Remove: remover(s)})
	start := time.Now()
	for _, step := range []struct {
		minute int
		write  string
		want   string // before the write
	}{
		{0, "e/a e/b f/c g/d", ""},
		{1, "", "e/a e/b f/c g/d"},
		{40, "e/b", "e/a e/b f/c g/d"},
		{60, "e/z", "e/a e/b f/c g/d"},
		{61, "", "e/b e/z g/d"},
		{100, "", "e/b e/z g/d"},
		{119, "", "e/b e/z g/d"},
		{120, "", "e/z g/d"}, // b was written after the step at minute 40 and before the one at 60
		{121, "", "g/d"},
		{300, "e/a", "g/d"},
		{301, "", "e/a g/d"},
		{361, "", "g/d"},
	} {
		if err := x.Step(context.Background(), start.Add(time.Duration(step.minute)*time.Minute)); err != nil {
			t.Fatal(err)
		}
		if got := kept(t, s); got != step.want {
			t.Errorf("minute %d: there is %q, want %q", step.minute, got, step.want)
		}
		write(strings.Fields(step.write)...)
	}
	before := s.Current()
	for minute := range 200 {
		if err := x.Step(context.Background(), start.Add(time.Duration(400+minute)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
	if s.Current() != before {
		t.Error("something was written though nothing had to go")
	}
}

// More objects than a page all expire, and a failed removal is retried.
func TestExpiryOfMany(t *testing.T) {
	s, write := open(t)
	for i := range 1500 {
		write(fmt.Sprintf("e/%04d", i))
	}
	broken := errors.New("broken")
	fails := true
	x := newExpiry(expiryConfig{Store: s, Prefixes: []string{"e/"}, Life: time.Second, Remove: func(ctx context.Context, key string, since uint64) error {
		if fails && (key == "e/0007" || key == "e/1400") {
			return broken
		}
		return remover(s)(ctx, key, since)
	}})
	now := time.Now()
	for _, want := range []struct {
		err  error
		keys string
	}{{nil, ""}, {broken, "e/0007 e/1400"}, {nil, ""}} {
		err := x.Step(context.Background(), now)
		if !errors.Is(err, want.err) {
			t.Errorf("error %v, want %v", err, want.err)
		}
		if got := kept(t, s); want.err != nil && got != want.keys {
			t.Errorf("there is %q, want %q", got, want.keys)
		}
		now, fails = now.Add(time.Second), want.err == nil
	}
	if got := kept(t, s); got != "" {
		t.Errorf("%q is left", got)
	}
}
