// Package admissionobjects keeps the objects in memory by which admission plug-ins decide
// about nearly every write.
package admissionobjects

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
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// Config holds the dependencies of the objects.
type Config struct {
	Store   store.Store
	Catalog *catalog.Catalog
	Log     *slog.Logger
}

// Objects are the objects, as new as the last acknowledged write.
type Objects struct {
	priorities *kind[*admission.Class]
	standard   live.Index[*admission.Class, []*admission.Class] // the default ones, by value and name
	namespaces *kind[*admission.Namespace]
	ingress    *kind[*admission.IngressClass]
	storage    *kind[*admission.StorageClass]
}

// Open reads the objects, and follows them until Close.
func Open(ctx context.Context, cfg Config) (*Objects, error) {
	o := &Objects{}
	var err error
	if o.priorities, err = open(ctx, cfg, "scheduling."+profile.GroupSuffix, "priorityclasses", admission.ReadClass); err == nil {
		o.standard = live.Derive(o.priorities.Collection, standardClasses)
		o.namespaces, err = open(ctx, cfg, "", "namespaces", admission.ReadNamespace)
	}
	if err == nil {
		o.ingress, err = open(ctx, cfg, "networking."+profile.GroupSuffix, "ingressclasses", admission.ReadIngressClass)
	}
	if err == nil {
		o.storage, err = open(ctx, cfg, "storage."+profile.GroupSuffix, "storageclasses", admission.ReadStorageClass)
	}
	if err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

// Close ends following.
func (o *Objects) Close() {
	o.priorities.close()
	o.namespaces.close()
	o.ingress.close()
	o.storage.close()
}

// Class returns the priority class with a name; for "" the default one of pods, of
// several that with the least value. It is nil when there is none.
func (o *Objects) Class(name string) *admission.Class {
	if name != "" {
		return o.priorities.get(name)
	}
	if standard := o.standard.Of(o.priorities.View()); len(standard) > 0 {
		return standard[0]
	}
	return nil
}

// Namespace returns the namespace with a name, nil when there is none.
func (o *Objects) Namespace(name string) *admission.Namespace { return o.namespaces.get(name) }

// IngressClasses are all ingress classes, in the order of their names.
func (o *Objects) IngressClasses() iter.Seq[*admission.IngressClass] { return o.ingress.all() }

// StorageClasses are all storage classes, in the order of their names.
func (o *Objects) StorageClasses() iter.Seq[*admission.StorageClass] { return o.storage.all() }

// kind is all objects of a cluster-scoped kind.
type kind[T any] struct {
	*live.Collection[T]
	row *catalog.Row
}

func open[T any](ctx context.Context, cfg Config, group, plural string, read func(obj document.Value) T) (*kind[T], error) {
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

func standardClasses(before []*admission.Class, changes []live.Change[*admission.Class]) []*admission.Class {
	now := slices.Clone(before)
	for _, c := range changes {
		now = slices.DeleteFunc(now, func(class *admission.Class) bool { return class == c.Before })
		if c.After != nil && c.After.Default {
			now = append(now, c.After)
		}
	}
	slices.SortFunc(now, func(a, b *admission.Class) int {
		return cmp.Or(cmp.Compare(a.Value, b.Value), cmp.Compare(a.Name, b.Name))
	})
	return now
}
