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

// findOrMake returns what find finds in the directory. A missing value (fs.ErrNotExist) is made under the lock, where
// find looks again: servers of one cluster share the directory, and may start at the same time. Other errors of find
// count under the lock only, since another server may be replacing the files. what begins the error of the lock.
func findOrMake[T any](d certDir, what string, find, produce func() (T, error)) (T, error) {
	v, first := find()
	if first == nil {
		return v, nil
	}
	held, err := d.lock()
	switch {
	case err == nil:
	case errors.Is(first, fs.ErrNotExist):
		return v, fmt.Errorf("%s: %w", what, err)
	default:
		return v, first
	}
	defer func() { _ = held.Close() }()
	if v, err = find(); errors.Is(err, fs.ErrNotExist) {
		return produce()
	}
	return v, err
}

// lock keeps other servers from making files of the directory until it is closed. Errors: others have the lock for
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
