package verbs

import (
	"bytes"
	"context"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/store"
)

// batch gathers stored objects for one call of a converter.
type batch struct {
	res    *api.Resource // of the wanted version
	keys   []string
	bodies [][]byte
	size   int // in bytes
}

// add copies an entry, which may be valid only for the moment.
func (b *batch) add(e *store.Entry) {
	b.keys = append(b.keys, strings.Clone(e.Key))
	b.bodies = append(b.bodies, bytes.Clone(e.Body))
	b.size += len(e.Body)
}

func (b *batch) full() bool {
	return len(b.bodies) >= convert.MaxBatch || b.size >= convert.MaxBatchBytes
}

// serve visits the objects in the wanted version, and leaves the batch empty. A body is
// valid during the visit only.
func (b *batch) serve(ctx context.Context, visit func(key string, body []byte) error) error {
	i := 0
	err := convert.Served(ctx, b.res, b.bodies, func(body []byte) error {
		i++
		return visit(b.keys[i-1], body)
	})
	b.keys, b.bodies, b.size = b.keys[:0], b.bodies[:0], 0
	return err
}
