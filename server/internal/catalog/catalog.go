// Package catalog holds the rows of the resources that a server serves: one row for each
// resource type in each version, found by path, by resource, by kind and by the keys of
// the store. Rows may be added, changed and removed while requests run.
package catalog

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Catalog holds the current snapshot of the rows, and replaces it.
//
// Invariants:
//
//	C1. A snapshot never changes. A request keeps the one that it began with.
//	C2. The versions of a resource type are added and removed together (Put, Remove),
//	    so that the rows of one type always know each other.
//	C3. An unchanged type keeps its rows, and all values derived from them, from one
//	    snapshot to the next.
type Catalog struct {
	Meta    *Schema                  // of the types common to all group versions: options, Status, lists
	writing ranks.Mutex[ranks.Inner] // held from reading the current snapshot to replacing it
	current atomic.Pointer[Snapshot]
	moved   chan struct{} // closed when current is replaced; nil while nobody waits
}

// New makes a catalog of the documents' group versions; meta is the table of the types
// common to all of them.
func New(groups []*api.GroupVersion, meta *schema.Table) *Catalog {
	c := &Catalog{Meta: newSchema(func() *schema.Table { return meta }, nil)}
	var all []*api.Resource
	for _, gv := range groups {
		for i := range gv.Resources {
			all = append(all, &gv.Resources[i])
		}
	}
	s := &Snapshot{}
	for _, t := range typesOf(all) {
		s.add(t)
	}
	s.byPrefix.fix()
	s.resources.fix()
	s.kinds.fix()
	c.current.Store(s)
	return c
}

// Snapshot is the present catalog.
func (c *Catalog) Snapshot() *Snapshot { return c.current.Load() }

// Put sets the rows of the types of resources: all versions of each. Readers that hold
// earlier rows can use them on.
func (c *Catalog) Put(versions ...*api.Resource) { c.PutTypes(typesOf(versions)...) }

// TypesOf are the types of resources, for PutTypes.
func TypesOf(versions []*api.Resource) []*Type { return typesOf(versions) }

// PutTypes is Put for types that other parts must know before they are served.
func (c *Catalog) PutTypes(types ...*Type) {
	c.change(func(s *Snapshot) {
		for _, t := range types {
			if from := s.Type(t.Prefix); from != nil {
				s.remove(from)
			}
			s.add(t)
		}
	})
}

// Remove takes a resource type out of the catalog, with all its versions. A type
// that is not there is removed already.
func (c *Catalog) Remove(group, plural string) {
	c.change(func(s *Snapshot) {
		if from := s.byPrefix.get(prefix(group, plural)); from != nil {
			s.remove(from)
		}
	})
}

// change makes the next snapshot.
func (c *Catalog) change(edit func(s *Snapshot)) {
	c.writing.Lock()
	defer c.writing.Unlock()
	s := *c.Snapshot()
	s.served = slices.Clone(s.served)
	edit(&s)
	if s.remotes != nil {
		s.outline = sync.OnceValue(func() *outline { return newOutline(s.served, s.remotes) })
	}
	c.current.Store(&s)
	if c.moved != nil {
		close(c.moved)
		c.moved = nil
	}
}

// Next waits until the present catalog is another one than a snapshot, and returns it.
// Error: that of ctx.
func (c *Catalog) Next(ctx context.Context, after *Snapshot) (*Snapshot, error) {
	for {
		c.writing.Lock()
		if c.moved == nil {
			c.moved = make(chan struct{})
		}
		moved, now := c.moved, c.Snapshot()
		c.writing.Unlock()
		if now != after {
			return now, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Snapshot is the rows at one moment. It never changes and is safe for concurrent use.
type Snapshot struct {
	byPrefix  table[string, *Type]
	resources table[Resource, *Row]
	kinds     table[Kind, *Row]
	groups    table[string, []*Version] // the parts of served
	served    []*Version

	remotes []*Version      // nil for none
	outline func() *outline // with remotes
}

// Resource names a row as paths do.
type Resource struct{ Group, Version, Plural string }

// Kind names a row as objects do.
type Kind struct{ APIVersion, Kind string }

func (s *Snapshot) add(t *Type) {
	s.byPrefix.set(t.Prefix, t)
	for _, row := range t.Rows {
		s.resources.set(Resource{row.GV.Group, row.GV.Version, row.Plural}, row)
		s.kinds.set(Kind{row.GV.APIVersion(), row.Kind}, row)
		if !row.GV.Unlisted {
			s.list(row)
		}
	}
}

// list adds a row to those in discovery.
func (s *Snapshot) list(row *Row) {
	if row.Off {
		return
	}
	at, found := slices.BinarySearchFunc(s.served, row.GV, (*Version).compare)
	if !found {
		s.served = slices.Insert(s.served, at, &Version{GroupVersion: row.GV})
	}
	rows := s.served[at].Rows
	below, listed := slices.BinarySearchFunc(rows, row.Plural, byPlural)
	if listed {
		return
	}
	s.served[at] = s.served[at].with(slices.Insert(slices.Clone(rows), below, row))
	s.regroup(row.GV, s.served[at])
}

func (s *Snapshot) remove(t *Type) {
	s.byPrefix.remove(t.Prefix)
	for _, row := range t.Rows {
		s.resources.remove(Resource{row.GV.Group, row.GV.Version, row.Plural})
		s.kinds.remove(Kind{row.GV.APIVersion(), row.Kind})
		at, found := slices.BinarySearchFunc(s.served, row.GV, (*Version).compare)
		if row.Off || !found {
			continue
		}
		rows := slices.DeleteFunc(slices.Clone(s.served[at].Rows), func(r *Row) bool { return r == row })
		if len(rows) == 0 {
			s.served = slices.Delete(s.served, at, at+1)
			s.regroup(row.GV, nil)
			continue
		}
		s.served[at] = s.served[at].with(rows)
		s.regroup(row.GV, s.served[at])
	}
}

// regroup replaces a version in those of its group; now is nil for one that is not served
// any more.
func (s *Snapshot) regroup(gv *api.GroupVersion, now *Version) {
	versions := slices.DeleteFunc(slices.Clone(s.groups.get(gv.Group)), func(v *Version) bool { return v.compare(gv) == 0 })
	if now != nil {
		at, _ := slices.BinarySearchFunc(versions, gv, (*Version).compare)
		versions = slices.Insert(versions, at, now)
	}
	if len(versions) == 0 {
		s.groups.remove(gv.Group)
	} else {
		s.groups.set(gv.Group, versions)
	}
}

func byPlural(row *Row, plural string) int { return cmp.Compare(row.Plural, plural) }

// Served lists the served group versions, in the order of discovery: by group, the
// preferred version of each first.
func (s *Snapshot) Served() []*Version { return s.served }

// Serves reports whether a version of a resource type is served.
func (s *Snapshot) Serves(group, plural string) bool {
	t := s.byPrefix.get(prefix(group, plural))
	return t != nil && t.Served()
}

// ServesGroup reports whether a version of the group is served.
func (s *Snapshot) ServesGroup(group string) bool { return len(s.ServedIn(group)) > 0 }

// ServedIn lists the served versions of a group, the preferred one first.
func (s *Snapshot) ServedIn(group string) []*Version { return s.groups.get(group) }

// ServedVersion finds a served group version; nil when there is none.
func (s *Snapshot) ServedVersion(apiVersion string) *Version {
	for _, v := range s.ServedIn(api.GroupOf(apiVersion)) {
		if v.APIVersion() == apiVersion {
			return v
		}
	}
	return nil
}

// Types are the resource types, including those that are off, in no order.
func (s *Snapshot) Types() iter.Seq[*Type] { return s.byPrefix.values() }

// Len is the number of resource types.
func (s *Snapshot) Len() int { return s.byPrefix.len() }

// Type is the resource type of a key in the store, or of the common beginning of a type's
// keys; nil for other keys.
func (s *Snapshot) Type(key string) *Type { return s.byPrefix.get(KeyPrefix(key)) }

// Resource finds a row, also one that is off; nil when there is none.
func (s *Snapshot) Resource(group, version, plural string) *Row {
	return s.resources.get(Resource{group, version, plural})
}

// Stored finds the row of a type in its storage version; nil when there is no such type,
// or it stores no objects.
func (s *Snapshot) Stored(group, plural string) *Row {
	if t := s.byPrefix.get(prefix(group, plural)); t != nil {
		return t.Stored
	}
	return nil
}

// Kind finds the row of a kind, also one that is off; nil when there is none.
func (s *Snapshot) Kind(apiVersion, kind string) *Row { return s.kinds.get(Kind{apiVersion, kind}) }
