package controller

import (
	"context"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// Conditions of orders, as in kube-controller-manager.
const (
	migrationRunning   = "Running"
	migrationSucceeded = "Succeeded"
	migrationFailed    = "Failed"
)

// noChange is the edit that leaves an object as it is.
func noChange(document.Value) {}

// editStatus changes the status of an order, while that is the one that was read.
func (g *migrations) editStatus(ctx context.Context, m *migration, change func(status document.Value)) error {
	return ignoreNotFound(g.Cluster.Edit(ctx, g.typ.Resource, "", m.Metadata.Name, "status", func(obj document.Value) {
		if obj.At("metadata", "uid").Equals(m.Metadata.UID) {
			change(obj.SetObject("status"))
		}
	}))
}

// noteRevision notes the revision up to which objects are written again.
func (g *migrations) noteRevision(ctx context.Context, m *migration, revision string) error {
	return g.editStatus(ctx, m, func(status document.Value) {
		if status.Get("resourceVersion").Text() == "" {
			status.SetString("resourceVersion", revision)
		}
	})
}

// note adds a condition to an order, unless it has been there before. An order that has ended does not run.
func (g *migrations) note(ctx context.Context, m *migration, condition, reason, message string) error {
	return g.editStatus(ctx, m, func(status document.Value) {
		conditions := status.SetArray("conditions")
		if known := conditions.ElementBy("type", condition); known.Get("status").Equals("True") || known.Exists() && !g.alpha() {
			return
		}
		if running := conditions.ElementBy("type", migrationRunning); condition != migrationRunning && running.Exists() && !g.takeTurns() {
			running.SetString("status", "False")
		}
		c := conditions.AppendObject()
		c.SetString("type", condition)
		c.SetString("status", "True")
		at := "lastTransitionTime"
		if g.alpha() {
			at = "lastUpdateTime"
		}
		c.SetString(at, g.Now().UTC().Format(time.RFC3339))
		c.SetString("reason", reason)
		if message != "" || !g.alpha() {
			c.SetString("message", message)
		}
	})
}

// fail ends an order.
func (g *migrations) fail(ctx context.Context, m *migration, message string) error {
	if !g.since("1.31") {
		message = ""
	}
	return g.note(ctx, m, migrationFailed, "StorageVersionMigrationFailed", message)
}

// failBy ends an order by an error, which releases before 1.35 do not show.
func (g *migrations) failBy(ctx context.Context, m *migration, err error) error {
	message := "migration encountered unhandled error"
	if !g.alpha() {
		message += ": " + err.Error()
	}
	return g.fail(ctx, m, message)
}

// endTurn takes the condition Running from an order that has ended.
func (g *migrations) endTurn(ctx context.Context, m *migration) error {
	return g.editStatus(ctx, m, func(status document.Value) {
		c := api.Condition{Type: migrationRunning, Status: "False", Reason: "MigrationCompleted", Message: "Migration completed"}
		c.Set(status.SetArray("conditions"), g.Now().UTC().Format(time.RFC3339)).SetInt("observedGeneration", m.Metadata.Generation)
	})
}
