package storetest

import (
	"context"
	"math/rand/v2"

	"github.com/capstan-dev/capstan/internal/store"
)

// Again is a store that runs the function of each Update one to three times, at random,
// as the contract allows: effects of a function show.
type Again struct{ store.Store }

// Update implements store.Store.
func (a Again) Update(ctx context.Context, key string, fn func(current *store.Entry) (store.Write, error)) (store.Entry, error) {
	return a.Store.Update(ctx, key, func(current *store.Entry) (store.Write, error) { return again(fn, current) })
}

// UpdateAll implements store.Store.
func (a Again) UpdateAll(ctx context.Context, keys []string, fn func(current []*store.Entry) ([]store.Write, error)) ([]store.Entry, error) {
	return a.Store.UpdateAll(ctx, keys, func(current []*store.Entry) ([]store.Write, error) { return again(fn, current) })
}

// again runs a function of Update one to three times; the last run counts.
func again[C, W any](fn func(current C) (W, error), current C) (W, error) {
	for range rand.IntN(3) {
		_, _ = fn(current)
	}
	return fn(current)
}
