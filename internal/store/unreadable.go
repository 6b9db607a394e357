package store

import (
	"context"
	"errors"
	"fmt"
)

// UnreadableError means that a record is there and cannot be opened: the key that it was
// encrypted with is missing, or the record was damaged. The others can be read.
type UnreadableError struct {
	Key      string
	Revision uint64
	Cause    error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("store: cannot read %q at %d: %v", e.Key, e.Revision, e.Cause)
}

func (e *UnreadableError) Unwrap() error { return e.Cause }

type discarding struct{}

// Discarding returns a context in which Update shows a record that cannot be opened as an
// entry without a value (Entry.Unreadable), which may only be deleted.
func Discarding(ctx context.Context) context.Context {
	return context.WithValue(ctx, discarding{}, true)
}

// updated is the newest entry of a key, for Update; nil for none.
func (e *Engine) updated(ctx context.Context, key string) (*Entry, error) {
	found, err := e.newest(key)
	return Seeable(ctx, key, found, err)
}

// Seeable turns the answer to a read of a key into the entry that a transaction sees: nil for none,
// and an entry without a value if the context is one of Discarding and the record cannot be opened.
// Other errors stay.
func Seeable(ctx context.Context, key string, found Entry, err error) (*Entry, error) {
	var unreadable *UnreadableError
	switch {
	case err == nil:
		return &found, nil
	case errors.Is(err, ErrNotFound):
		return nil, nil
	case errors.As(err, &unreadable) && ctx.Value(discarding{}) != nil:
		return &Entry{Key: key, Revision: unreadable.Revision, Value: Value{RevisionAt: -1}, Unreadable: true}, nil
	}
	return nil, err
}

// lastKnown is the state before a deletion: that of an entry which could not be opened is
// as little known as its last one, which the deletion has made up.
func lastKnown(current Entry, last Value) Entry {
	if current.Unreadable {
		current.Value, current.Unreadable = Value{Meta: last.Meta, Body: last.Body, RevisionAt: -1}, false
	}
	return current
}

// ScanReadable is Reader.Scan of a prefix without the records that cannot be opened, each of which
// skip receives.
func ScanReadable(ctx context.Context, r Reader, prefix string, visit func(e *Entry) bool, skip func(*UnreadableError)) error {
	return PastUnreadable("", func(from string) error { return r.Scan(ctx, prefix, from, visit) }, skip)
}

// PastUnreadable scans from a key on, and goes on after each record that cannot be opened, which skip
// receives. Errors are the others of scan.
func PastUnreadable(from string, scan func(from string) error, skip func(*UnreadableError)) error {
	for {
		err := scan(from)
		var unreadable *UnreadableError
		if !errors.As(err, &unreadable) || unreadable.Key < from {
			return err
		}
		skip(unreadable)
		from = unreadable.Key + "\x00"
	}
}
