package store_test

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/storetest"
)

// engines opens engines, each on a file system in memory of its own.
type engines map[*store.Engine]vfs.FS

func (m engines) open(t storetest.TB, fs vfs.FS) store.Store {
	t.Helper()
	e, err := store.Open(store.Config{Dir: "data", FS: fs})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	m[e] = fs
	return e
}

func (m engines) reopen(t storetest.TB, s store.Store) store.Store {
	t.Helper()
	e := s.(*store.Engine)
	if err := e.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return m.open(t, m[e])
}

func TestAcceptance(t *testing.T) {
	m := engines{}
	storetest.Run(t, storetest.Harness{
		Open:   func(t storetest.TB) store.Store { return m.open(t, vfs.NewMem()) },
		Reopen: m.reopen,
		Trim: func(ctx context.Context, s store.Store, upTo uint64) error {
			return s.(*store.Engine).Trim(ctx, upTo)
		},
		Check: func(ctx context.Context, s store.Store, report func(string)) error {
			return s.(*store.Engine).Check(ctx, report)
		},
	})
}
