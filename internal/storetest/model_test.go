package storetest

import (
	"context"
	"testing"

	"github.com/capstan-dev/capstan/internal/store"
)

func TestModel(t *testing.T) {
	Run(t, Harness{
		Open:   func(TB) store.Store { return NewModel() },
		Reopen: func(_ TB, s store.Store) store.Store { return s.(*Model).Reopen() },
		Trim:   func(_ context.Context, s store.Store, upTo uint64) error { return s.(*Model).Trim(upTo) },
	})
}
