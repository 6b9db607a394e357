package operate

import (
	"os"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/progress"
)

// Show shows a step of a migration.
func (s Step) Show(meter *progress.Meter) {
	if s.Problem == "" && !s.Done {
		meter.At("migrating", "objects", s.Looked, s.Total)
	}
}

// followEvery is the time between two looks at a growing backup.
const followEvery = 200 * time.Millisecond

// follow makes a backup in a directory, and shows meanwhile the part of the store's files that is there. Links of
// files are there at once; the tree copies them where the file system has no links, and says nothing about that.
func follow(dir string, stats store.Stats, meter *progress.Meter, backup func() error) error {
	done := make(chan error, 1)
	go func() { done <- backup() }()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
			if size, err := sizeOf(store.Partial(dir)); err == nil {
				meter.At("copying files", progress.Bytes, size, stats.DiskBytes)
			}
		}
	}
}

// sizeOf is the size of the files in a directory.
func sizeOf(dir string) (size int64, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil { // else it has gone meanwhile
			size += info.Size()
		}
	}
	return size, nil
}
