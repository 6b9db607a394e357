package objects

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
)

// settle ends a claim after the store's transaction on key. wrote reports whether the
// transaction was to store an object, err is its result.
func settle(c *allocate.Claim, key string, wrote bool, err error) {
	if wrote && !nothingWritten(err) {
		c.Keep(key)
	} else {
		c.Release()
	}
}

// nothingWritten reports whether an error of a transaction guarantees that nothing was
// written.
func nothingWritten(err error) bool {
	var refused *api.Error
	if errors.As(err, &refused) {
		return true
	}
	for _, is := range []error{errDryRun, ErrNothing, store.ErrClosed, store.ErrFull, store.ErrReadOnly, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}
