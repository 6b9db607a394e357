package store

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Config locates the data of an Engine, with its bounds. Only Dir is required.
type Config struct {
	// Dir is the data directory. It is created when it is missing.
	Dir string
	// FS is the file system that Dir is on; nil means the machine's.
	// vfs.NewMem() keeps everything in memory.
	FS vfs.FS
	// History is the time for which superseded versions and the change log are kept for
	// old reads and for resuming a feed. 0 means five minutes.
	History time.Duration
	// Clock is the time of history; nil means time.Now.
	Clock func() time.Time
	// Logger receives warnings and errors; nil means none.
	Logger *slog.Logger
	// CacheBytes bounds the cache of uncompressed blocks. 0 means 64 MiB.
	CacheBytes int64
	// EntryCacheBytes bounds the newest versions of objects that are cached for reads of
	// single objects. 0 means 48 MiB.
	EntryCacheBytes int64
	// MemTableBytes bounds the writes in memory that are not yet in a sorted file, and
	// with them the log that a start after a crash reads again. The memory begins with
	// 256 KiB and doubles on demand. 0 means 8 MiB.
	MemTableBytes int64
	// ReserveBytes is the disk space set aside for deleting and trimming on a full disk.
	// 0 means 64 MiB, about the space of a compaction until it frees its inputs.
	ReserveBytes int64

	// Cipher encrypts written values; nil for none.
	Cipher Cipher

	// Forgets says that nothing has to outlive the Engine: its writes have no log and wait for no disk, and some of
	// them are gone when it is opened again.
	Forgets bool

	// Replica says that the store follows another one, which gives the revisions: it is
	// written by Load and Replicate only. Its writes have no log either.
	Replica bool
	// FlushInterval is the time after which the writes of a replica are in sorted files at the latest, so that a
	// crash loses no older ones. 0 means a minute.
	FlushInterval time.Duration

	// Progress receives, often, how far Check, Restore and Backup have come, and the reading of a replica's source;
	// nil for nobody. unit is "bytes", which are estimated, or what else is counted; total is 0 when it is unknown.
	Progress func(work, unit string, done, total int64)

	readOnly bool // see OpenReadOnly
}

// logless reports whether writes have no log, so that a crash may lose the newest ones.
func (c *Config) logless() bool { return c.Forgets || c.Replica }

// Bounds that Validate enforces.
const (
	minHistory  = time.Second
	minCache    = 1 << 20
	minMemTable = 1 << 20
	maxMemTable = 1 << 30
	minReserve  = 1 << 20
)

// Validate returns all mistakes of the configuration, or nil.
func (c Config) Validate() error {
	var errs []error
	if c.Dir == "" {
		errs = append(errs, errors.New("store: Dir is empty; name the data directory"))
	}
	if c.History != 0 && c.History < minHistory {
		errs = append(errs, fmt.Errorf("store: History is %s; it must be at least %s, or 0 for the default", c.History, minHistory))
	}
	if c.FlushInterval < 0 {
		errs = append(errs, fmt.Errorf("store: FlushInterval is %s; it must be positive, or 0 for the default", c.FlushInterval))
	}
	if c.CacheBytes != 0 && c.CacheBytes < minCache {
		errs = append(errs, fmt.Errorf("store: CacheBytes is %d; it must be at least %d, or 0 for the default", c.CacheBytes, minCache))
	}
	if c.EntryCacheBytes != 0 && c.EntryCacheBytes < minCache {
		errs = append(errs, fmt.Errorf("store: EntryCacheBytes is %d; it must be at least %d, or 0 for the default", c.EntryCacheBytes, minCache))
	}
	if c.MemTableBytes != 0 && (c.MemTableBytes < minMemTable || c.MemTableBytes > maxMemTable) {
		errs = append(errs, fmt.Errorf("store: MemTableBytes is %d; it must be between %d and %d, or 0 for the default", c.MemTableBytes, minMemTable, maxMemTable))
	}
	if c.ReserveBytes != 0 && c.ReserveBytes < minReserve {
		errs = append(errs, fmt.Errorf("store: ReserveBytes is %d; it must be at least %d, or 0 for the default", c.ReserveBytes, minReserve))
	}
	return errors.Join(errs...)
}

// Remove deletes the data directory of a replica, which must not be open.
func (c Config) Remove() error {
	if !c.Replica {
		return errors.New("store: only the directory of a replica is removed")
	}
	c = c.withDefaults()
	if err := c.FS.RemoveAll(c.Dir); err != nil {
		return fmt.Errorf("store: cannot remove the replica in %s: %w", c.Dir, err)
	}
	return nil
}

// Rename gives the data directory, which must not be open, another name, durably.
func (c Config) Rename(dir string) error {
	if err := moveDir(c.withDefaults().FS, c.Dir, dir); err != nil {
		return fmt.Errorf("store: cannot rename %s: %w", c.Dir, err)
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.FS == nil {
		c.FS = vfs.Default
	}
	if c.History == 0 {
		c.History = 5 * time.Minute
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.CacheBytes == 0 {
		c.CacheBytes = 64 << 20
	}
	if c.EntryCacheBytes == 0 {
		c.EntryCacheBytes = 48 << 20
	}
	if c.MemTableBytes == 0 {
		c.MemTableBytes = 8 << 20
	}
	if c.ReserveBytes == 0 {
		c.ReserveBytes = 64 << 20
	}
	if c.FlushInterval == 0 {
		c.FlushInterval = time.Minute
	}
	if c.Progress == nil {
		c.Progress = func(string, string, int64, int64) {}
	}
	return c
}
