package admission

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// LiveConfig holds the dependencies of the objects.
type LiveConfig struct {
	Store   store.Store
	Catalog *catalog.Catalog
	Log     *slog.Logger
}

// LiveObjects are the objects, as new as the last acknowledged write.
type LiveObjects struct {
	priorities *kind[*Class]
	standard   live.Index[*Class, []*Class] // the default ones, by value and name
	namespaces *kind[*Namespace]
	ingress    *kind[*IngressClass]
	storage    *kind[*StorageClass]
}

// OpenObjects reads the objects, and follows them until Close.
func OpenObjects(ctx context.Context, cfg LiveConfig) (*LiveObjects, error) {
	o := &LiveObjects{}
	var err error
	if o.priorities, err = open(ctx, cfg, schedulingGroup, "priorityclasses", ReadClass); err == nil {
		o.standard = live.Derive(o.priorities.Collection, standardClasses)
		o.namespaces, err = open(ctx, cfg, "", "namespaces", ReadNamespace)
	}
	if err == nil {
		o.ingress, err = open(ctx, cfg, "networking."+profile.GroupSuffix, "ingressclasses", ReadIngressClass)
	}
	if err == nil {
		o.storage, err = open(ctx, cfg, "storage."+profile.GroupSuffix, "storageclasses", ReadStorageClass)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// Close ends following.
func (o *LiveObjects) Close() {
	o.priorities.close()
	o.namespaces.close()
	o.ingress.close()
	o.storage.close()
}

// Class returns the priority class with a name; for "" the default one of pods, of
// several that with the least value. It is nil when there is none.
func (o *LiveObjects) Class(name string) *Class {
	if name != "" {
		return o.priorities.get(name)
	}
	if standard := o.standard.Of(o.priorities.View()); len(standard) > 0 {
		return standard[0]
	}
	return nil
}

// Namespace returns the namespace with a name, nil when there is none.
func (o *LiveObjects) Namespace(name string) *Namespace { return o.namespaces.get(name) }

// IngressClasses are all ingress classes, in the order of their names.
func (o *LiveObjects) IngressClasses() iter.Seq[*IngressClass] { return o.ingress.all() }

// StorageClasses are all storage classes, in the order of their names.
func (o *LiveObjects) StorageClasses() iter.Seq[*StorageClass] { return o.storage.all() }

// kind is all objects of a cluster-scoped kind.
type kind[T any] struct {
	*live.Collection[T]
	row *catalog.Row
}

func open[T any](ctx context.Context, cfg LiveConfig, group, plural string, read func(obj document.Value) T) (*kind[T], error) {
	row := cfg.Catalog.Snapshot().Stored(group, plural)
	if row == nil {
		return nil, fmt.Errorf("the catalog has no %s: regenerate from documents that do", plural)
	}
	all, err := live.Open(ctx, live.Config[T]{Store: cfg.Store, Prefixes: []string{row.Prefix("")}, Decode: live.Read(row, read), Logger: cfg.Log})
	if err != nil {
		return nil, err
	}
	return &kind[T]{all, row}, nil
}

func (k *kind[T]) get(name string) T { return k.View().Get(k.row.Key("", name)) }

func (k *kind[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, value := range k.View().Under("") {
			if !yield(value) {
				return
			}
		}
	}
}

func (k *kind[T]) close() {
	if k != nil {
		k.Close()
	}
}

func standardClasses(before []*Class, changes []live.Change[*Class]) []*Class {
	now := slices.Clone(before)
	for _, c := range changes {
		now = slices.DeleteFunc(now, func(class *Class) bool { return class == c.Before })
		if c.After != nil && c.After.Default {
			now = append(now, c.After)
		}
	}
	slices.SortFunc(now, func(a, b *Class) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	return now
}
