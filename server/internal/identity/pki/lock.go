package pki

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockWait is the longest wait for others that make files of a directory, which takes them milliseconds.
const lockWait = 10 * time.Second

// lock keeps other servers from making files of the directory until it is closed. Servers of one cluster share
// the directory, and may start at the same time. Who reads files needs no lock: a pair of files that is
// about to be replaced is read again under the lock, before it is judged. Errors: others have the lock for
// too long, or the directory cannot be written.
func (d certDir) lock() (io.Closer, error) {
	if d.path == "" {
		return io.NopCloser(nil), nil
	}
	if err := os.MkdirAll(d.path, 0o700); err != nil {
		return nil, err
	}
	for end := time.Now().Add(lockWait); ; time.Sleep(5 * time.Millisecond) {
		held, err := vfs.Default.Lock(d.file(".lock"))
		if path := (*fs.PathError)(nil); err == nil || errors.As(err, &path) {
			return held, err
		}
		if time.Now().After(end) {
			return nil, fmt.Errorf("another process has locked %s for %s, and makes certificates there: end it, or wait for it", d.file(".lock"), lockWait)
		}
	}
}
