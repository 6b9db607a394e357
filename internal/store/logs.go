package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/atomicfs"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// logs is the list of the log files that may hold writes. Pebble opens with the logs that
// it finds, so without a list it would not notice that one was deleted and acknowledged
// writes with it. The names are kept next to the logs, in the name of an empty file
// ("marker.logs.000007.000012,000013"), as Pebble does with its manifest.
//
// Invariant: a log is listed only while it is on the disk: it is added to the list after
// it was made and before its first write, and taken off before it is removed.
type logs struct {
	mu     ranks.Mutex[ranks.Leaf]
	marker *atomicfs.Marker // nil until the store is opened for writing
	names  []string         // without the ending
}

const (
	logsMarker = "logs"
	logEnding  = ".log"
)

// isLog reports whether a file is a log of the tree.
func isLog(name string) bool { return strings.HasSuffix(name, logEnding) }

// checkLogs refuses a directory in which a log is missing.
func checkLogs(on vfs.FS, dir string) ([]string, error) {
	value, err := atomicfs.ReadMarker(on, dir, logsMarker)
	if err != nil || value == "" {
		return nil, err
	}
	names := strings.Split(value, ",")
	for _, name := range names {
		if _, err := on.Stat(on.PathJoin(dir, name+logEnding)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("store: the log %s is missing from %s, and with it writes that were acknowledged; put it back, or restore a backup. To go on without them, delete the files marker.%s.* there", name+logEnding, dir, logsMarker)
		}
	}
	return names, nil
}

// openLogs begins to maintain the list.
func (d *disk) openLogs(names []string) (err error) {
	d.logs.names = names
	d.logs.marker, _, err = atomicfs.LocateMarker(d, d.dir, logsMarker)
	if err != nil {
		return err
	}
	return d.logs.marker.RemoveObsolete()
}

func (d *disk) closeLogs() error {
	if d.logs.marker == nil {
		return nil
	}
	return d.logs.marker.Close()
}

// list adds a log to the list, or removes it.
func (d *disk) list(name string, on bool) error {
	l, name := &d.logs, strings.TrimSuffix(d.FS.PathBase(name), logEnding)
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.names, name)
	if l.marker == nil || d.frozen.Load() || on == (at >= 0) {
		return nil
	}
	if on {
		l.names = append(l.names, name)
	} else {
		l.names = slices.Delete(l.names, at, at+1)
	}
	return l.marker.Move(strings.Join(l.names, ","))
}
