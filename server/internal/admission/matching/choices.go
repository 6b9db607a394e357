package matching

import (
	"maps"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Choices finds those of a list of webhooks or policies that may be for a kind of write.
// It remembers them while the catalog stays the same, so that a write costs nothing for
// those that are for others.
type Choices[T any] struct {
	all   []T
	of    func(T) *Constraints
	known atomic.Pointer[choices[T]]
}

// choices are the known ones in one snapshot of the catalog. They never change.
type choices[T any] struct {
	in *catalog.Snapshot
	by map[kind][]T
}

// kind is a kind of write.
type kind struct {
	operation   admission.Operation
	resource    *api.Resource
	subresource string
}

// mostKinds bounds the kinds of writes that are remembered.
const mostKinds = 1024

// NewChoices makes the choices among a list, in its order.
func NewChoices[T any](all []T, of func(T) *Constraints) *Choices[T] {
	return &Choices[T]{all: all, of: of}
}

// For lists those that may be for such a write.
func (c *Choices[T]) For(m *Matcher, o admission.Operation, resource *api.Resource, subresource string) []T {
	if c == nil || len(c.all) == 0 {
		return nil
	}
	snapshot, key := m.Catalog.Snapshot(), kind{o, resource, subresource}
	known := c.known.Load()
	if known == nil || known.in != snapshot || len(known.by) >= mostKinds {
		known = &choices[T]{in: snapshot}
	}
	found, ok := known.by[key]
	if ok {
		return found
	}
	may := m.may(o, resource, subresource)
	for _, one := range c.all {
		if may(c.of(one)) {
			found = append(found, one)
		}
	}
	now := &choices[T]{in: snapshot, by: map[kind][]T{key: found}}
	maps.Copy(now.by, known.by)
	c.known.Store(now) // another one's may be lost, and is found again
	return found
}
