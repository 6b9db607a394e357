// Package references keeps an index of the references that restrict deletes, so that the delete of an object
// learns what refers to it without reading any object.
//
// # Decisions
//
// Only references with onDelete: restrict are in the index, and only their objects in memory: for each about 200
// bytes and the keys of both sides. A server whose documents have no such reference keeps nothing.
package references

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/tidwall/btree"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// Config has what the index follows.
type Config struct {
	Store   store.Store
	Catalog *catalog.Catalog
	Logger  *slog.Logger
}

// Index is the objects that refer to others, by those.
type Index struct {
	catalog *catalog.Catalog
	all     *live.Collection[*targets]
	pairs   live.Index[*targets, *pairs]
}

// targets are the keys that one object refers to, each once.
type targets struct{ keys []string }

// pairs has for each reference the key that it refers to, a zero byte, and the key of the object that has it.
type pairs = btree.Set[string]

// Open reads all references, and follows their changes until Close. It returns nil when no kind has a reference
// that restricts deletes.
func Open(ctx context.Context, cfg Config) (*Index, error) {
	x := &Index{catalog: cfg.Catalog}
	var prefixes []string
	for t := range cfg.Catalog.Snapshot().Types() {
		if t.Stored != nil && slices.ContainsFunc(t.Stored.References, restricts) {
			prefixes = append(prefixes, t.Prefix)
		}
	}
	if prefixes == nil {
		return nil, nil
	}
	slices.Sort(prefixes)
	var err error
	if x.all, err = live.Open(ctx, live.Config[*targets]{Store: cfg.Store, Prefixes: prefixes, Decode: x.read, Logger: cfg.Logger}); err != nil {
		return nil, err
	}
	x.pairs = live.Derive(x.all, follow)
	return x, nil
}

func restricts(r api.Reference) bool { return r.OnDelete == api.DeleteRestricted }

// Close ends following.
func (x *Index) Close() { x.all.Close() }

// read finds the references of an object; nil for none.
func (x *Index) read(e *store.Entry) (*targets, error) {
	now := x.catalog.Snapshot()
	row := now.Type(e.Key).Stored
	doc, err := document.ReadStored(row.GV.Types(), row.Type, e.Body)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	found := &targets{}
	for i := range row.References {
		r := &row.References[i]
		to := now.Stored(r.Group, r.Resource)
		if to == nil || !restricts(*r) {
			continue
		}
		namespace := ""
		if to.Namespaced {
			namespace, _ = row.SplitKey(e.Key)
		}
		r.Each(doc.Root(), func(name document.Value) {
			if key := to.Key(strings.Clone(namespace), name.Text()); key != e.Key {
				found.keys = append(found.keys, key)
			}
		})
	}
	if found.keys == nil {
		return nil, nil
	}
	slices.Sort(found.keys)
	found.keys = slices.Compact(found.keys)
	return found, nil
}

// follow makes the next pairs.
func follow(before *pairs, changes []live.Change[*targets]) *pairs {
	next := &pairs{}
	if before != nil {
		next = before.Copy()
	}
	for _, c := range changes {
		if c.Before != nil {
			for _, to := range c.Before.keys {
				next.Delete(to + "\x00" + c.Key)
			}
		}
		if c.After != nil {
			for _, to := range c.After.keys {
				next.Insert(to + "\x00" + c.Key)
			}
		}
	}
	return next
}

// The refusal of a delete names some referrers, and counts them up to a bound.
const (
	named   = 5
	counted = 1000
)

// To implements objects.Referrers.
func (x *Index) To(key string) (some []objects.Referrer, total int, revision uint64) {
	view := x.all.View()
	from := key + "\x00"
	x.pairs.Of(view).Ascend(from, func(pair string) bool {
		by, refers := strings.CutPrefix(pair, from)
		if !refers {
			return false
		}
		if total++; total <= named {
			row := x.catalog.Snapshot().Type(by).Stored
			namespace, name := row.SplitKey(by)
			some = append(some, objects.Referrer{Kind: row.Kind, Namespace: namespace, Name: name})
		}
		return total < counted
	})
	return some, total, view.Revision()
}
