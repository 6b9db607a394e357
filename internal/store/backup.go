package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Backup writes a copy of the store into a directory that does not exist yet,
// on the store's file system. It holds every write that was acknowledged before
// the call, and may be made while the store is in use. Sorted files are linked
// rather than copied where the file system can do that, so that it takes
// milliseconds; they never change. The directory gets its name last: one that
// has it is whole and on the disk. See Restore.
//
// Errors: ErrClosed, an error that wraps fs.ErrExist when the directory exists,
// I/O errors. A store that is broken refuses, because its newest writes may be
// in memory only.
func (e *Engine) Backup(dir string) error {
	if !e.gate.enter() {
		return ErrClosed
	}
	defer e.gate.leave()
	if err := e.broken(); err != nil && !errors.Is(err, ErrReadOnly) {
		return fmt.Errorf("store: no backup is made of a store that has failed: %w", err)
	}
	on := e.cfg.FS
	partial := Partial(dir)
	for _, name := range []string{dir, partial} {
		if _, err := on.Stat(name); err == nil {
			return fmt.Errorf("store: cannot back up to %s: %w; name another directory, or remove it", name, fs.ErrExist)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("store: cannot back up to %s: %w", dir, err)
		}
	}
	// An acknowledged write is in a synced file or in the synced part of the
	// log; both are copied, so there is nothing to flush first.
	var err error
	if e.cfg.readOnly {
		err = copyDir(context.Background(), e.cfg, e.cfg.Dir, partial) // no other process writes: this one holds the lock
	} else {
		err = e.db.Checkpoint(partial)
	}
	if err == nil {
		err = listContents(on, partial)
	}
	if err == nil {
		err = moveDir(on, partial, dir)
	} else {
		err = errors.Join(err, on.RemoveAll(partial))
	}
	if err != nil {
		return fmt.Errorf("store: cannot back up to %s: %w", dir, err)
	}
	return nil
}

// Partial is the directory in which a backup grows before it gets its name.
func Partial(dir string) string { return filepath.Clean(dir) + ".partial" }

// moveDir renames a directory and makes the new name durable.
func moveDir(on vfs.FS, from, to string) error {
	if err := on.Rename(from, to); err != nil {
		return err
	}
	return syncDir(on, on.PathDir(to))
}

// makeDir makes a directory and its missing parents, all durable: a crash does not take
// them away.
func makeDir(on vfs.FS, dir string) error {
	var changed []string // directories that get a new entry
	for missing := dir; ; missing = changed[len(changed)-1] {
		_, err := on.Stat(missing)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		changed = append(changed, on.PathDir(missing))
		if on.PathDir(missing) == missing {
			break // the root
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := on.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, name := range changed {
		if err := syncDir(on, name); err != nil {
			return err
		}
	}
	return nil
}

func syncDir(on vfs.FS, dir string) error {
	d, err := on.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// mostSkipped bounds skip of Restore, so that revisions cannot run out.
const mostSkipped = 1 << 48

// Restore makes a store in cfg.Dir, which must be missing or empty, of a backup on the
// same file system. The backup is not changed. Its content is read and checked first; the
// directory gets its name last, and is durable then.
//
// Writes acknowledged after the backup are lost, but clients may have seen their
// revisions. Restore therefore skips the next skip revisions and trims all history, so
// that none is used twice: a client that continues from an old revision gets a
// *TrimmedError. With skip 0, right only when nothing was written after the backup,
// revisions and history continue.
//
// Errors: ErrLocked when the backup is the directory of a store in use, those of
// Open, an error that wraps fs.ErrExist, and one that names the violations.
func Restore(ctx context.Context, cfg Config, from string, skip uint64) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	cfg = cfg.withDefaults()
	on, target := cfg.FS, cfg.Dir
	if skip > mostSkipped {
		return fmt.Errorf("store: %d revisions are too many to leave out; use up to %d", skip, uint64(mostSkipped))
	}
	if ok, err := exists(on, from); err != nil {
		return err
	} else if !ok {
		return fmt.Errorf("store: there is no backup in %s: %w", from, fs.ErrNotExist)
	}
	names, err := on.List(target)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("store: cannot restore into %s: %w", target, err)
	}
	if len(names) > 0 {
		return fmt.Errorf("store: cannot restore into %s: %w and is not empty; move it away first", target, fs.ErrExist)
	}
	// A medium that cannot be written cannot be locked either, and has no other lock.
	lock, err := pebble.LockDirectory(from, on)
	if err == nil {
		defer func() { _ = lock.Close() }()
	} else if err = lockError(from, err); errors.Is(err, ErrLocked) {
		return err
	}
	cfg.Dir = on.PathJoin(on.PathDir(target), on.PathBase(target)+".restoring")
	err = errors.Join(checkContents(on, from), on.RemoveAll(cfg.Dir)) // the rest of an interrupted restore
	if err == nil {
		err = copyDir(ctx, cfg, from, cfg.Dir)
	}
	if err == nil {
		err = revive(ctx, cfg, skip)
	}
	if err == nil && names != nil {
		err = on.Remove(target)
	}
	if err == nil {
		err = moveDir(on, cfg.Dir, target)
	}
	if err != nil {
		err = errors.Join(err, on.RemoveAll(cfg.Dir))
		return fmt.Errorf("store: cannot restore %s into %s: %w", from, target, err)
	}
	return nil
}

// inBackup reports whether a file of a store is one of its backup.
func inBackup(name string) bool {
	return name != "LOCK" && name != contentsFile && !strings.HasPrefix(name, reserveFile)
}

// copyDir copies the files of a backup and syncs them. The configuration is that of either store.
func copyDir(ctx context.Context, cfg Config, from, to string) error {
	on := cfg.FS
	files, err := contentsOf(on, from)
	if err != nil {
		return err
	}
	if err := makeDir(on, to); err != nil {
		return err
	}
	done, total := int64(0), int64(0)
	for _, size := range files {
		total += size
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		cfg.Progress("copying files", "bytes", done, total)
		if err := vfs.Copy(on, on.PathJoin(from, name), on.PathJoin(to, name)); err != nil {
			return err
		}
		done += files[name]
	}
	return syncDir(on, to)
}

// revive opens a copy, checks it and leaves out revisions.
func revive(ctx context.Context, cfg Config, skip uint64) error {
	e, err := Open(cfg)
	if err != nil {
		return err
	}
	problems, first := 0, ""
	err = e.Check(ctx, func(problem string) {
		if problems++; problems == 1 {
			first = problem
		}
	})
	if err == nil && problems > 0 {
		err = fmt.Errorf("the backup violates %d rules, the first: %s; restore another backup", problems, first)
	}
	if err == nil && skip > 0 {
		e.trim.mu.Lock()
		err = e.trimTo(ctx, e.Current()+skip) // the next revision follows the oldest readable one
		e.trim.mu.Unlock()
	}
	// The trim is in the log, which Close makes durable.
	return errors.Join(err, e.Close())
}
