package store

import (
	"fmt"
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"

	"github.com/capstan-dev/capstan/internal/invariants"
)

// pebbleOptions are the settings of the tree, for a small process with objects of some
// kilobytes.
func pebbleOptions(c Config, compactions *scheduler) *pebble.Options {
	o := &pebble.Options{
		FS:         c.FS,
		DisableWAL: c.logless(),
		Comparer:   comparer(),
		// Pebble counts the memory tables, one in use and one spare, as part of the
		// cache.
		CacheSize: c.CacheBytes + 2*c.MemTableBytes,
		// A fixed version, so that an upgrade of the library does not change the files by
		// itself.
		FormatMajorVersion:          pebble.FormatValueSeparation,
		MemTableSize:                uint64(c.MemTableBytes),
		MemTableStopWritesThreshold: 4,
		// Twice the number of sorted runs in level 0 that are worth a compaction.
		// Every start leaves one.
		L0CompactionThreshold:      8,
		L0StopWritesThreshold:      40,
		LBaseMaxBytes:              64 << 20,
		MaxOpenFiles:               500,
		CompactionConcurrencyRange: func() (int, int) { return 1, 2 },
		Logger:                     pebbleLogger{c.Logger},
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) {
				c.Logger.Warn("store: background work failed and will be tried again", "error", err)
			},
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				c.Logger.Error("store: a file is damaged; restore a backup", "path", info.Path, "details", info.Details)
			},
			WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
				c.Logger.Warn("store: writes wait for background work", "reason", info.Reason)
			},
			PossibleAPIMisuse: func(info pebble.PossibleAPIMisuseInfo) {
				if invariants.Enabled {
					invariants.Failf("T4: %s", info)
				}
				c.Logger.Error("store: a trimmed record was not written exactly once", "details", info.String())
			},
		},
	}
	// Objects are larger than the default block of 4 KiB, and would have one
	// each. Measured with 7 KB values: blocks of 32 KiB scan faster than smaller
	// ones, larger ones gain nothing and cost a cold read more. Values in files
	// of their own (ValueSeparationPolicy) made updates a fifth cheaper, scans
	// of updated collections and the feed a fifth dearer; they are not used.
	o.Levels[0].BlockSize = blockBytes
	o.Levels[0].IndexBlockSize = 8 * blockBytes // so that a file has one level of index
	// Measured with 2 KB objects: a tenth less CPU per write than Snappy, Pebble's
	// default, and slightly smaller files.
	o.Levels[0].Compression = func() *sstable.CompressionProfile { return sstable.MinLZCompression }
	o.Levels[0].FilterPolicy = bloom.FilterPolicy(10)
	// Files that are mostly deletions are compacted at once, so that scans do not meet
	// them. Every flush has a tenth, Pebble's default, where objects change often.
	o.Experimental.TombstoneDenseCompactionThreshold = 0.5
	o.Experimental.CompactionScheduler = compactions
	o.EnsureDefaults() // deeper levels inherit from level 0
	return o
}

const blockBytes = 32 << 10

// pebbleLogger drops Pebble's informational messages and keeps its errors.
type pebbleLogger struct{ to *slog.Logger }

func (l pebbleLogger) Infof(string, ...any) {}

func (l pebbleLogger) Errorf(format string, args ...any) {
	l.to.Error("store: " + fmt.Sprintf(format, args...))
}

// Fatalf must not return: Pebble calls it when the files no longer agree with its memory
// (a manifest that could not be written). Stopping is safe: all acknowledged writes are
// in the log and are there at the next start.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	message := "store: cannot go on: " + fmt.Sprintf(format, args...)
	l.to.Error(message)
	panic(message)
}
