package store

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"
)

// formatVersion is the layout that this package reads and writes. Another layout gets
// another number; nothing is converted silently.
const formatVersion = "capstan-store-2"

// formerFormat had no short records. Its stores get the present number when they are
// opened for writing.
const formerFormat = "capstan-store-1"

// Open opens the store in cfg.Dir, which it creates if need be. Errors: ErrLocked when it
// is in use, *FormatError when another version wrote it, those of Validate, and I/O
// errors.
//
// The next revision is one more than the newest in the log. A revision that was assigned
// before a crash and did not reach the disk is assigned again; it was never seen, because
// callers, readers and subscribers see a write only when it is durable (S2). A write that
// reached the disk but was not acknowledged becomes visible: its caller has no answer, so
// it may be there. It is durable from then on, since Pebble moves the content of its log
// to synced files before it opens. The log is written in revision order and its valid
// part ends at the first gap, so the surviving revisions have no holes.
func Open(cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	if err := makeDir(cfg.FS, cfg.Dir); err != nil {
		return nil, fmt.Errorf("store: cannot create the data directory: %w", err)
	}
	return open(cfg)
}

// OpenReadOnly opens an existing store for inspection. Nothing in the directory changes
// but the lock: writes that are in the log only are held in memory. Writes are refused
// with ErrReadOnly, and Healthy returns it. Errors: those of Open, and one that wraps
// fs.ErrNotExist when there is no store.
func OpenReadOnly(cfg Config) (*Engine, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	cfg.readOnly = true
	if ok, err := exists(cfg.FS, cfg.Dir); err != nil {
		return nil, err
	} else if !ok {
		return nil, fmt.Errorf("store: there is no store in %s: %w", cfg.Dir, fs.ErrNotExist)
	}
	return open(cfg)
}

// exists reports whether a directory has a store in it.
func exists(on vfs.FS, dir string) (bool, error) {
	if _, err := on.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	description, err := pebble.Peek(dir, on)
	if err != nil {
		return false, fmt.Errorf("store: cannot look into %s: %w", dir, err)
	}
	return description.Exists, nil
}

// open opens the store in a directory that exists.
func open(cfg Config) (*Engine, error) {
	lock, err := pebble.LockDirectory(cfg.Dir, cfg.FS)
	if err != nil {
		return nil, lockError(cfg.Dir, err)
	}
	e := &Engine{cfg: cfg, lock: lock, gate: newGate(), stopped: make(chan struct{})}
	e.disk = newDisk(cfg.FS, cfg.Dir, newReserve(cfg), func(err error) { _ = e.fail(err) })
	names, err := checkLogs(cfg.FS, cfg.Dir)
	if err == nil && !cfg.readOnly {
		err = forgetContents(cfg.FS, cfg.Dir)
	}
	if err == nil && !cfg.readOnly {
		err = e.disk.openLogs(names)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	compactions := newScheduler()
	if e.db, err = e.openTree(compactions); err != nil {
		e.disk.close()
		compactions.Unregister()
		return nil, errors.Join(e.broken(), openError(cfg.Dir, err), e.disk.closeLogs(), lock.Close())
	}
	e.disk.opened.Store(true)
	err = e.broken() // a frozen disk reports success to the tree
	if err == nil {
		err = e.load()
	}
	if err != nil {
		e.disk.close()
		if !e.gate.poisoned.Load() {
			err = errors.Join(err, e.db.Close(), e.disk.closeLogs(), lock.Close())
		}
		return nil, err
	}
	e.cache.init(cfg.EntryCacheBytes, e.write.next-1)
	e.presence.init()
	e.write.latest.init()
	e.publisher.replica = cfg.Replica
	e.publisher.init(e.write.next-1, &e.cache, &e.presence)
	e.readers.open = make(map[*reader]struct{})
	ctx, stop := context.WithCancel(context.Background())
	e.stop = stop
	if cfg.readOnly {
		e.failure.Store(&writeError{ErrReadOnly})
		close(e.stopped)
	} else {
		go e.keepHistory(ctx)
		if cfg.Replica {
			e.chores.Go(func() { e.keepFlushed(ctx) })
		}
	}
	compactions.start()
	return e, nil
}

// openTree opens the tree. Pebble reports some errors at this stage through Fatalf, which
// panics.
func (e *Engine) openTree(compactions *scheduler) (db *pebble.DB, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(e.broken(), fmt.Errorf("%v", p))
		}
	}()
	options := pebbleOptions(e.cfg, compactions)
	options.FS, options.Lock, options.ReadOnly = e.disk, e.lock, e.cfg.readOnly
	options.WALMinSyncInterval = e.gathering
	usual := options.CompactionConcurrencyRange
	options.CompactionConcurrencyRange = func() (int, int) {
		if e.disk.reserve.state() != nil {
			return 1, 1 // two would take each other's space
		}
		return usual()
	}
	options.AddEventListener(pebble.EventListener{
		FlushEnd:       func(info pebble.FlushInfo) { e.disk.flushes.end(info.Err) },
		CompactionEnd:  func(info pebble.CompactionInfo) { e.disk.compactions.end(info.Err) },
		DataCorruption: e.noteDamage,
	})
	if !e.cfg.readOnly {
		if err := e.markFormat(options.FormatMajorVersion); err != nil {
			return nil, err
		}
	}
	return pebble.Open(e.cfg.Dir, options)
}

// markFormat makes the format of a new tree the wanted one. Pebble would begin with its
// oldest one and go through all of them, with three syncs each.
func (e *Engine) markFormat(format pebble.FormatMajorVersion) error {
	for _, name := range [...]string{"manifest", "format-version"} {
		marker, value, err := atomicfs.LocateMarker(e.disk, e.cfg.Dir, name)
		if err == nil && name == "format-version" && value == "" {
			err = marker.Move(format.String())
		}
		if err == nil {
			err = marker.Close()
		}
		if err != nil || value != "" {
			return err
		}
	}
	return nil
}

func lockError(dir string, err error) error {
	// A lock of another process fails with an error number, one of this process in words
	// only.
	if errors.Is(err, syscall.EAGAIN) || strings.Contains(err.Error(), "held by current process") {
		return fmt.Errorf("%w: %s; stop that process or choose another directory", ErrLocked, dir)
	}
	return fmt.Errorf("store: cannot lock the data directory %s: %w", dir, err)
}

func openError(dir string, err error) error {
	if strings.Contains(err.Error(), "comparer") {
		return &FormatError{Found: "an unknown key order", Supported: formatVersion}
	}
	if strings.Contains(err.Error(), "unknown format major version") {
		return &FormatError{Found: "that of a later Pebble", Supported: formatVersion}
	}
	return fmt.Errorf("store: cannot open the data directory %s: %w", dir, err)
}

// load reads the settings of an existing store or writes those of a new one,
// and finds the next revision.
func (e *Engine) load() error {
	format, err := readSetting(e.db, metaFormat)
	switch {
	case err != nil:
	case format == nil && !e.cfg.readOnly:
		err = e.initialize()
	case string(format) == formerFormat && !e.cfg.readOnly:
		err = e.renumber()
	case string(format) != formatVersion && string(format) != formerFormat:
		err = &FormatError{Found: string(format), Supported: formatVersion}
	}
	if err != nil {
		return err
	}
	id, err := readSetting(e.db, metaCluster)
	if err != nil {
		return err
	}
	e.id = string(id)
	if err := e.loadTrimmer(); err != nil {
		return err
	}
	gap, err := readRevisionSetting(e.db, metaGap)
	if err != nil {
		return err
	}
	e.publisher.gap.Store(gap)
	last, err := e.lastRevision()
	if err != nil {
		return err
	}
	e.write.next = max(last, e.Oldest()) + 1
	return nil
}

// renumber gives a store of the former format the present one's number.
func (e *Engine) renumber() error {
	b := e.db.NewBatch()
	if err := b.Set(metaKey(metaFormat), []byte(formatVersion), nil); err != nil {
		return err
	}
	return e.applySynced(b)
}

// initialize writes the settings of a new store, all or none of them.
func (e *Engine) initialize() error {
	it, err := e.db.NewIter(nil)
	if err != nil {
		return err
	}
	empty := !it.First()
	if err := it.Close(); err != nil {
		return err
	}
	if !empty {
		return &FormatError{Found: "", Supported: formatVersion}
	}
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return fmt.Errorf("store: no random numbers: %w", err)
	}
	b := e.db.NewBatch()
	err = errors.Join(
		b.Set(metaKey(metaFormat), []byte(formatVersion), nil),
		b.Set(metaKey(metaCluster), []byte(hex.EncodeToString(id[:])), nil))
	if err != nil {
		return err
	}
	return e.applySynced(b)
}

// readSetting returns a value of the meta space, or nil.
func readSetting(from pebble.Reader, name string) ([]byte, error) {
	v, closer, err := from.Get(metaKey(name))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("store: cannot read the setting %q: %w", name, plain(err))
	}
	v = append([]byte{}, v...)
	return v, closer.Close()
}

// readRevisionSetting returns a revision of the meta space, or 0.
func readRevisionSetting(from pebble.Reader, name string) (uint64, error) {
	v, err := readSetting(from, name)
	if err != nil || v == nil {
		return 0, err
	}
	r, err := decodeRevision(v)
	if err != nil {
		return 0, fmt.Errorf("store: the setting %q is damaged: %w", name, err)
	}
	return r, nil
}

func setRevision(b *pebble.Batch, name string, revision uint64) error {
	return b.Set(metaKey(name), binary.BigEndian.AppendUint64(nil, revision), nil)
}

// lastRevision returns the newest revision in the log, 0 when it is empty. It skips the
// trimmed part, which may still hold a marker for every deleted record.
func (e *Engine) lastRevision() (uint64, error) {
	it, err := e.db.NewIter(&pebble.IterOptions{
		LowerBound: appendLog(nil, e.trim.swept+1),
		UpperBound: []byte{logSpace + 1},
	})
	if err != nil {
		return 0, err
	}
	var last uint64
	if it.Last() {
		last, err = parseLog(it.Key())
	}
	return last, errors.Join(err, it.Close())
}
