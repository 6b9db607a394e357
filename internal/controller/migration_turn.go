package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// storageMigrating is the condition of a definition whose objects are written again.
const storageMigrating = "StorageMigrating"

// turn ends the turn of each order of a resource that is over, and gives one to the oldest of the others, unless
// one has it. The definition of a custom resource says that its objects are written again, and
// afterwards that they are all stored in the storage version.
func (g *migrations) turn(ctx context.Context, of groupResource) error {
	ended, next, err := g.ordersOf(ctx, of)
	if err != nil {
		return err
	}
	for _, m := range ended {
		if err := g.endMigration(ctx, m); err != nil {
			return err
		}
		if err := g.endTurn(ctx, m); err != nil {
			return err
		}
	}
	if next == nil {
		return nil
	}
	if err := g.announce(ctx, next); err != nil {
		return err
	}
	return g.note(ctx, next, migrationRunning, "MigrationRunning", "The migration is running")
}

// ordersOf finds the orders of a resource that have ended with their turn, and the next one to have a turn; nil for none, and while
// one has it.
func (g *migrations) ordersOf(ctx context.Context, of groupResource) (ended []*migration, next *migration, err error) {
	view, err := g.Store.At(ctx, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	busy := false
	err = store.ScanReadable(ctx, view, g.typ.Prefix, func(e *store.Entry) bool {
		m, err := readMigration(e.Body)
		switch {
		case err != nil || m.resource() != of:
		case m.is(migrationRunning) && m.over():
			ended = append(ended, m)
		case m.is(migrationRunning):
			busy = true
		case !m.over() && (next == nil || m.before(next)):
			next = m
		}
		return true
	}, func(*store.UnreadableError) {})
	if busy {
		next = nil
	}
	return ended, next, err
}

// before reports whether an order comes before another one.
func (m *migration) before(other *migration) bool {
	if c := m.Metadata.CreationTimestamp.Compare(other.Metadata.CreationTimestamp); c != 0 {
		return c < 0
	}
	return strings.Compare(m.Metadata.Name, other.Metadata.Name) < 0
}

// editDefinition changes the status of the definition of an order's resource, if that is a custom one.
func (g *migrations) editDefinition(ctx context.Context, m *migration, change func(obj, conditions document.Value, generation int64)) error {
	if g.definitions == nil {
		return nil
	}
	of := m.Spec.Resource
	return ignoreNotFound(g.Cluster.Edit(ctx, g.definitions.Resource, "", of.Resource+"."+of.Group, "status", func(obj document.Value) {
		generation, _ := obj.At("metadata", "generation").Int()
		change(obj, obj.SetObject("status").SetArray("conditions"), generation)
	}))
}

// announce has the definition say that its objects are written again.
func (g *migrations) announce(ctx context.Context, m *migration) error {
	return g.editDefinition(ctx, m, func(_, conditions document.Value, generation int64) {
		c := api.Condition{Type: storageMigrating, Status: "True", Reason: "MigrationRunning", Message: fmt.Sprintf("Migration %s is running", m.Metadata.Name)}
		c.Set(conditions, g.Now().UTC().Format(time.RFC3339)).SetInt("observedGeneration", generation)
	})
}

// endMigration has the definition say how the migration has ended. All objects are stored in the storage version
// after a success, if the definition is as it was at the beginning.
func (g *migrations) endMigration(ctx context.Context, m *migration) error {
	return g.editDefinition(ctx, m, func(obj, conditions document.Value, generation int64) {
		c := api.Condition{Type: storageMigrating, Status: "False", Reason: "MigrationFailed", Message: "The migration has failed"}
		if m.is(migrationSucceeded) {
			begun, known := conditions.ElementBy("type", storageMigrating).Get("observedGeneration").Int()
			c.Reason, c.Message = "MigrationSucceeded", "The migration has succeeded but the stored versions have not been updated due to a generation mismatch"
			if known && begun == generation {
				c.Message = "The migration has succeeded and the stored versions have been updated"
				onlyStorageVersion(obj)
			}
		}
		c.Set(conditions, g.Now().UTC().Format(time.RFC3339)).SetInt("observedGeneration", generation)
	})
}

// onlyStorageVersion has the status of a definition name its storage version as the only one that objects are stored in.
func onlyStorageVersion(obj document.Value) {
	for _, version := range obj.At("spec", "versions").Elements() {
		if version.Get("storage").Bool() {
			status := obj.Get("status")
			status.Remove("storedVersions")
			status.SetArray("storedVersions").AppendString(version.Get("name").Text())
			return
		}
	}
}
