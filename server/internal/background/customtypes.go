package background

import (
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// customTypes are the types of custom resources as controllers know them. They are
// looked up in the snapshot of the catalog, once for each.
type customTypes struct {
	catalog *catalog.Catalog

	mu     ranks.Mutex[ranks.Leaf]
	of     *catalog.Snapshot
	types  map[string]*customType // by prefix
	byKind map[controller.Kind]*controller.Type
}

// customType is a type, with the time since which it is not served any more.
type customType struct {
	*controller.Type
	from *catalog.Type
	gone time.Time
}

// remembered is the time for which changes of a removed type may still be on their way to
// controllers.
const remembered = time.Minute

// current updates the types to the newest snapshot.
func (c *customTypes) current() {
	snapshot := c.catalog.Snapshot()
	if c.of == snapshot {
		return
	}
	c.of, c.byKind = snapshot, map[controller.Kind]*controller.Type{}
	types := map[string]*customType{}
	for t := range snapshot.Types() {
		if t.Stored == nil || t.Stored.Definition == nil {
			continue
		}
		known := c.types[t.Prefix]
		if known == nil || known.from != t {
			known = &customType{Type: &controller.Type{Resource: t.Stored.Resource, Prefix: t.Prefix}, from: t}
		}
		types[t.Prefix] = known
		for _, row := range t.Rows {
			c.byKind[controller.Kind{APIVersion: row.GV.APIVersion(), Kind: row.Kind}] = known.Type
		}
	}
	now := time.Now()
	for prefix, known := range c.types {
		if types[prefix] != nil {
			continue
		}
		if known.gone.IsZero() {
			known.gone = now
		}
		if now.Sub(known.gone) < remembered {
			types[prefix] = known
		}
	}
	c.types = types
}

// ByPrefix implements controller.Custom.
func (c *customTypes) ByPrefix(prefix string) *controller.Type {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current()
	if t := c.types[prefix]; t != nil {
		return t.Type
	}
	return nil
}

// ByKind implements controller.Custom.
func (c *customTypes) ByKind(kind controller.Kind) *controller.Type {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current()
	return c.byKind[kind]
}

// All implements controller.Custom.
func (c *customTypes) All() []*controller.Type {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current()
	all := make([]*controller.Type, 0, len(c.types))
	for _, t := range c.types {
		if t.gone.IsZero() {
			all = append(all, t.Type)
		}
	}
	slices.SortFunc(all, func(a, b *controller.Type) int { return strings.Compare(a.Prefix, b.Prefix) })
	return all
}
