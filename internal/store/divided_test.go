package store

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestDivided: a key is where its prefix says, in writes, gets, scans and counts; a write elsewhere stands
// only while what it saw in the other store does, and no transaction has keys of both.
func TestDivided(t *testing.T) {
	ctx := context.Background()
	main, elsewhere := openMem(t), openMem(t)
	d := &Divided{Store: main, Elsewhere: elsewhere, Prefix: "core/events/"}
	put := func(key string, seen ...Seen) (Entry, error) {
		return d.Update(ctx, key, func(current *Entry) (Write, error) {
			op := OpCreate
			if current != nil {
				op = OpUpdate
			}
			return Write{Op: op, Value: Value{Body: []byte(key), RevisionAt: -1}, Seen: seen}, nil
		})
	}
	must := func(key string, seen ...Seen) Entry {
		t.Helper()
		e, err := put(key, seen...)
		if err != nil {
			t.Fatal(key, err)
		}
		return e
	}
	space := must("core/namespaces/a")
	must("core/pods/a/x")
	seen := Seen{Key: "core/namespaces/a", Revision: space.Revision}
	if e := must("core/events/a/1", seen); e.Revision != 1 {
		t.Errorf("the first event has revision %d", e.Revision)
	}
	all := Seen{Key: "core/pods/a/", Revision: main.Current(), Collection: true}
	must("core/events/a/2", all, Seen{Key: "core/services/a/none"})
	must("core/pods/a/y")
	must("core/namespaces/a")
	for _, old := range []Seen{seen, all, {Key: "core/pods/a/y"}} {
		if _, err := put("core/events/a/3", old); !errors.Is(err, ErrChanged) {
			t.Errorf("an event that saw %v: %v", old, err)
		}
	}
	if _, err := put("core/events/a/1", Seen{Key: "core/events/a/2", Revision: 1}); !errors.Is(err, ErrChanged) {
		t.Errorf("an event that saw another one, which has changed: %v", err)
	}
	must("core/pods/a/x", Seen{Key: "core/events/a/", Revision: main.Current(), Collection: true}) // is left out
	_, err := d.UpdateAll(ctx, []string{"core/pods/a/x", "core/events/a/1"}, func([]*Entry) ([]Write, error) {
		t.Error("a transaction in two stores is decided on")
		return nil, nil
	})
	if err == nil || !strings.Contains(err.Error(), "core/events/a/1") {
		t.Errorf("a transaction in two stores: %v", err)
	}
	if _, err := main.Get(ctx, "core/events/a/1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("an event lies in the main store: %v", err)
	}
	checkDivided(t, d)
}

func checkDivided(t *testing.T, d *Divided) {
	ctx := context.Background()
	view, err := d.At(ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	var keys []string
	visit := func(e *Entry) bool {
		keys = append(keys, e.Key)
		return true
	}
	for _, prefix := range []string{"core/pods/", "core/events/"} {
		if n, err := view.Count(ctx, prefix, ""); n != 2 || err != nil {
			t.Errorf("%s has %d, %v", prefix, n, err)
		}
		if err := view.Scan(ctx, prefix, "", visit); err != nil {
			t.Error(err)
		}
		if err := view.ScanMeta(ctx, prefix, prefix+"a/y", visit); err != nil {
			t.Error(err)
		}
	}
	if err := view.GetEach(ctx, []string{"core/events/a/2", "core/namespaces/a", "core/pods/a/y"}, visit); err != nil {
		t.Error(err)
	}
	const want = "core/pods/a/x core/pods/a/y core/pods/a/y core/events/a/1 core/events/a/2 core/events/a/2 core/namespaces/a core/pods/a/y"
	if have := strings.Join(keys, " "); have != want {
		t.Errorf("visited %s\nwant    %s", have, want)
	}
	if e, err := view.Get("core/events/a/1"); err != nil || string(e.Body) != "core/events/a/1" {
		t.Errorf("%s, %v", e.Body, err)
	}
}
