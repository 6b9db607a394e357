package store_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/storetest"
)

// engines opens engines, each on a file system in memory of its own.
type engines struct {
	config store.Config // Dir and FS are filled in
	files  func() *vfs.MemFS
	reopen func(t storetest.TB, m *engines, e *store.Engine) store.Store
	tiny   bool // memory tables hold one write
	open   map[*store.Engine]location
	moves  int
}

// settling is an engine whose memory tables hold one write.
type settling struct {
	*store.Engine
	writes int
}

func (s *settling) Update(ctx context.Context, key string, fn func(current *store.Entry) (store.Write, error)) (store.Entry, error) {
	e, err := s.Engine.Update(ctx, key, fn)
	s.writes++
	return e, errors.Join(err, s.Settle(s.writes%5 == 0))
}

func engineOf(s store.Store) *store.Engine {
	if tiny, ok := s.(*settling); ok {
		return tiny.Engine
	}
	return s.(*store.Engine)
}

// location is the directory of an engine's files, with its file system.
type location struct {
	dir string
	fs  *vfs.MemFS
}

func (m *engines) openAt(t storetest.TB, p location) store.Store {
	t.Helper()
	cfg := m.config
	cfg.Dir, cfg.FS = p.dir, p.fs
	e, err := store.Open(cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	m.open[e] = p
	if m.tiny {
		return &settling{Engine: e}
	}
	return e
}

func (m *engines) harness() storetest.Harness {
	m.open = map[*store.Engine]location{}
	return storetest.Harness{
		Open:   func(t storetest.TB) store.Store { return m.openAt(t, location{"var/lib/data", m.files()}) },
		Reopen: func(t storetest.TB, s store.Store) store.Store { return m.reopen(t, m, engineOf(s)) },
		Trim: func(ctx context.Context, s store.Store, upTo uint64) error {
			return engineOf(s).Trim(ctx, upTo)
		},
		Check: func(ctx context.Context, s store.Store, report func(string)) error {
			return engineOf(s).Check(ctx, report)
		},
	}
}

// afterClose closes the engine and opens its directory again.
func afterClose(t storetest.TB, m *engines, e *store.Engine) store.Store {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return m.openAt(t, m.open[e])
}

// afterCrash opens what a crash leaves when nothing unsynced survives.
func afterCrash(t storetest.TB, m *engines, e *store.Engine) store.Store {
	t.Helper()
	p := m.open[e]
	p.fs = p.fs.CrashClone(vfs.CrashCloneCfg{})
	if err := e.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	return m.openAt(t, p)
}

// fromBackup backs the engine up while it runs, loses it, and restores.
func fromBackup(t storetest.TB, m *engines, e *store.Engine) store.Store {
	t.Helper()
	p := m.open[e]
	m.moves++
	copied, restored := fmt.Sprintf("backup-%d", m.moves), fmt.Sprintf("restored-%d", m.moves)
	if err := e.Backup(copied); err != nil {
		t.Fatalf("Backup: %v", err)
	}
	p.fs = p.fs.CrashClone(vfs.CrashCloneCfg{})
	if err := e.Close(); err != nil {
		t.Fatalf("Close: %v", err)
	}
	if err := store.Restore(context.Background(), store.Config{Dir: restored, FS: p.fs}, copied, 0); err != nil {
		t.Fatalf("Restore: %v", err)
	}
	p.fs, p.dir = p.fs.CrashClone(vfs.CrashCloneCfg{}), restored
	return m.openAt(t, p)
}

func TestAcceptance(t *testing.T) {
	m := &engines{files: vfs.NewMem, reopen: afterClose}
	storetest.Run(t, m.harness())
}

// A list of operations gives the same history in every engine, whatever restarts come in
// between.
func TestRandomOperations(t *testing.T) {
	for name, m := range map[string]*engines{
		"tiny memory tables": {config: store.Config{MemTableBytes: 1 << 20, CacheBytes: 1 << 20}, tiny: true, files: vfs.NewMem, reopen: afterClose},
		"encrypted":          {config: store.Config{MemTableBytes: 1 << 20, Cipher: store.Mask{}}, tiny: true, files: vfs.NewMem, reopen: afterClose},
		"crashes":            {files: vfs.NewCrashableMem, reopen: afterCrash},
		"backup and restore": {files: vfs.NewCrashableMem, reopen: fromBackup},
	} {
		t.Run(name, func(t *testing.T) { storetest.RunRandom(t, m.harness()) })
	}
}

// A backup that lacks the end of a file, or a whole one, is refused, also where the rest would be a
// store. As soon as it was opened as a store its files may change.
func TestRestoreOfPartOfABackup(t *testing.T) {
	ctx := context.Background()
	for _, cut := range []string{"", "end", "file", "opened"} {
		mem := vfs.NewMem()
		s, err := store.Open(store.Config{Dir: "data", FS: mem})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		for range 3 {
			storetest.Put(t, s, "k", 1)
		}
		if err := s.Backup("backup"); err != nil {
			t.Fatal(err)
		}
		names, err := mem.List("backup")
		if err != nil {
			t.Fatal(err)
		}
		logs := slices.DeleteFunc(slices.Sorted(slices.Values(names)), func(name string) bool { return !strings.HasSuffix(name, ".log") })
		last := "backup/" + logs[len(logs)-1]
		switch cut {
		case "end":
			err = shorten(mem, last)
		case "file":
			err = mem.Remove(last)
		case "opened":
			var opened *store.Engine
			if opened, err = store.Open(store.Config{Dir: "backup", FS: mem}); err == nil {
				storetest.Put(t, opened, "k", 2)
				err = opened.Close()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		err = store.Restore(ctx, store.Config{Dir: "new", FS: mem}, "backup", 0)
		if whole := cut == "" || cut == "opened"; whole != (err == nil) || !whole && !strings.Contains(err.Error(), "the file "+logs[len(logs)-1]+" of the backup") {
			t.Errorf("%q: %v", cut, err)
		}
	}
}

// shorten cuts some bytes off a file.
func shorten(on vfs.FS, name string) error {
	f, err := on.Open(name)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	to, err := on.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = to.Write(text[:len(text)-10])
	return errors.Join(err, to.Close())
}

// Restoring an older backup skips the revisions that clients may have seen.
func TestRestoreSkips(t *testing.T) {
	ctx, mem := context.Background(), vfs.NewMem()
	s, err := store.Open(store.Config{Dir: "data", FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range 50 {
		storetest.Put(t, s, fmt.Sprintf("k%d", i%7), i)
	}
	if err := s.Backup("backup"); err != nil {
		t.Fatal(err)
	}
	lost := storetest.Put(t, s, "lost", 1)

	if err := store.Restore(ctx, store.Config{Dir: "data", FS: mem}, "backup", 1000); !errors.Is(err, fs.ErrExist) {
		t.Errorf("restoring over a store: %v", err)
	}
	if err := store.Restore(ctx, store.Config{Dir: "new", FS: mem}, "data", 1000); !errors.Is(err, store.ErrLocked) {
		t.Errorf("restoring from a store in use: %v", err)
	}
	if err := store.Restore(ctx, store.Config{Dir: "new", FS: mem}, "nothing", 1000); err == nil {
		t.Error("restoring from nothing")
	}
	if err := store.Restore(ctx, store.Config{Dir: "new", FS: mem}, "backup", 1000); err != nil {
		t.Fatal(err)
	}
	restored, err := store.Open(store.Config{Dir: "new", FS: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	if restored.Current() != 1050 || restored.Oldest() != 1050 {
		t.Errorf("Current %d, Oldest %d; expected 1050", restored.Current(), restored.Oldest())
	}
	if _, err := restored.Get(ctx, "lost"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("what was written after the backup: %v", err)
	}
	var trimmed *store.TrimmedError
	if _, err := restored.Changes(ctx, "", lost.Revision, nil); !errors.As(err, &trimmed) {
		t.Errorf("a feed after a lost revision: %v", err)
	}
	if next := storetest.Put(t, restored, "k1", 2); next.Revision != 1051 {
		t.Errorf("the next revision is %d", next.Revision)
	}
	if e, err := restored.Get(ctx, "k2"); err != nil || e.Revision > 50 {
		t.Errorf("an object of the backup: %d, %v", e.Revision, err)
	}
	if err := restored.Check(ctx, func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
}
