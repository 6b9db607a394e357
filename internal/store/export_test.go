package store

import "context"

// Settle moves the newest writes to sorted files and, on request, all sorted files to the
// deepest level.
func (e *Engine) Settle(compact bool) error {
	if err := e.db.Flush(); err != nil || !compact {
		return err
	}
	return e.db.Compact(context.Background(), []byte{0}, []byte{0xff}, false)
}

// Written returns the bytes of the sorted files that flushes and compactions have written.
func (e *Engine) Written() (flushed, compacted uint64) {
	all := e.db.Metrics().Total()
	return all.TableBytesFlushed, all.TableBytesCompacted
}
