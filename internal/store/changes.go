package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// Changes implements Store. It reads the log and, for each change with the
// prefix, the two versions that it names; it holds one change at a time.
//
// Trimming to a revision T deletes the log up to and including T and keeps the
// newest version of every key at T. So the feed can begin after T: the state
// before the change at T+1 is still there.
func (e *Engine) Changes(ctx context.Context, prefix string, after uint64, visit func(c *Change) bool) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if !e.gate.enter() {
		return 0, ErrClosed
	}
	defer e.gate.leave()
	current := e.Current()
	snap := e.db.NewSnapshot() // before the check, see At
	defer func() { _ = snap.Close() }()
	if oldest := e.Oldest(); after < oldest {
		return 0, &TrimmedError{Asked: after, Oldest: oldest}
	}
	if after >= current {
		return after, nil
	}
	it, err := snap.NewIter(&pebble.IterOptions{
		LowerBound: appendLog(nil, after+1),
		UpperBound: appendLog(nil, current+1),
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = it.Close() }() // it.Error below reports the same error
	n, stopped := 0, uint64(0)        // the revision at which visit returned false
	for valid := it.First(); valid; valid = it.Next() {
		if n++; n%checkEvery == 0 {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			if e.gate.closed() {
				return 0, ErrClosed
			}
		}
		revision, record, err := readRecord(it)
		if err != nil {
			return 0, err
		}
		if stopped != 0 && revision != stopped {
			break
		}
		if !hasPrefix(record.key, prefix) {
			continue
		}
		c, err := readChange(e.opener(), snap, revision, record)
		if err != nil {
			return 0, err
		}
		if !visit(c) {
			stopped = revision
		}
	}
	if err := it.Error(); err != nil {
		return 0, fmt.Errorf("store: cannot read the log: %w", plain(err))
	}
	return cmp.Or(stopped, current), nil
}

func hasPrefix(key []byte, prefix string) bool {
	return len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix
}

// readRecord decodes the log record that the iterator is at.
func readRecord(it *pebble.Iterator) (uint64, logRecord, error) {
	revision, err := parseLog(it.Key())
	if err != nil {
		return 0, logRecord{}, err
	}
	stored, err := it.ValueAndErr()
	if err != nil {
		return 0, logRecord{}, fmt.Errorf("store: cannot read the log record at %d: %w", revision, plain(err))
	}
	record, err := decodeRecord(stored)
	if err != nil {
		return 0, logRecord{}, fmt.Errorf("store: the log record at %d: %w", revision, err)
	}
	return revision, record, nil
}

// readChange builds a change from its log record.
func readChange(o opener, from pebble.Reader, revision uint64, record logRecord) (*Change, error) {
	key := strings.Clone(string(record.key))
	c := &Change{Op: record.op}
	var err error
	var unreadable *UnreadableError
	if record.prev != 0 {
		c.Prev, err = readVersion(o, from, key, record.prev, OpUpdate, Entry{})
		if err != nil && (record.op != OpDelete || !errors.As(err, &unreadable)) {
			return nil, err
		}
	}
	c.Entry, err = readVersion(o, from, key, revision, record.op, c.Prev)
	if unreadable != nil && err == nil {
		c.Prev = lastKnown(Entry{Key: key, Revision: record.prev, Unreadable: true}, c.Entry.Value)
	}
	return c, err
}

// readVersion returns exactly one version. Before is the version before a deletion.
func readVersion(o opener, from pebble.Reader, key string, revision uint64, op Op, before Entry) (Entry, error) {
	var scratch [keyScratch]byte
	stored, closer, err := from.Get(appendChange(scratch[:0], objectSpace, key, revision, op))
	if err != nil {
		return Entry{}, fmt.Errorf("store: cannot read %q at %d, which the log names: %w", key, revision, plain(err))
	}
	record, stale, err := o.open(objectSpace, key, revision, bytes.Clone(stored))
	var value Value
	switch {
	case err != nil:
	case op == OpDelete:
		value, err = decodeLast(record, revision, before)
	default:
		value, err = decodeValue(record)
	}
	if err := errors.Join(err, closer.Close()); err != nil {
		return Entry{}, fmt.Errorf("store: cannot read %q at %d: %w", key, revision, plain(err))
	}
	return Entry{Key: key, Revision: revision, Value: value, Rewritten: stale}, nil
}
