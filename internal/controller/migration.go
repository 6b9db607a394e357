package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// migrations is the controller of orders that all objects of a resource be stored as they would be
// stored today: in the present version and form, and encrypted with the present key.
//
// Each object is edited without a change, which is a write only where its stored form is another one. So
// watchers see no others, and an order that a restart has cut off goes on without another note:
// objects that were written since the order began are left out.
//
// The conditions are those of kube-controller-manager. Up to 1.35 each order runs at once; from 1.36 on
// one order of a resource runs at a time, see migration_turn.go.
type migrations struct {
	*cluster
	typ, definitions *Type
	orders           *queue[string]        // by name
	turns            *queue[groupResource] // of resources whose orders take turns
}

// groupResource names a resource of an order.
type groupResource struct{ Group, Resource string }

// migrationsGroup is the group of the orders.
const migrationsGroup = "storagemigration." + profile.GroupSuffix

const (
	migrationWorkers = 5   // orders at once
	migrationWriters = 8   // objects of an order at once: their commits share syncs of the disk
	migrationPage    = 512 // keys that are looked up before their objects are written
	// migrationPatience is the time after which a resource of a new order has to be served.
	migrationPatience = time.Minute
)

func newMigrations(ctx context.Context, c *cluster) handler {
	g := &migrations{cluster: c, typ: c.find(migrationsGroup, "storageversionmigrations"), definitions: c.definitions()}
	g.orders = newQueue(ctx, StorageMigrator, migrationWorkers, c.Logger, g.sync)
	g.turns = newQueue(ctx, StorageMigrator, 1, c.Logger, g.turn)
	return g
}

func (g *migrations) wants(t *Type) bool { return t == g.typ }
func (g *migrations) reset()             {}
func (g *migrations) close()             { g.orders.close(); g.turns.close() }

// alpha reports whether orders are those of v1alpha1, with the conditions of before 1.35.
func (g *migrations) alpha() bool { return !g.since("1.35") }

// takeTurns reports whether one order of a resource runs at a time.
func (g *migrations) takeTurns() bool { return g.since("1.36") }

func (g *migrations) observe(_ context.Context, o *observation) {
	if o.typ != g.typ {
		return
	}
	m, err := readMigration(o.body)
	if err != nil {
		return // a stored object
	}
	if g.takeTurns() {
		g.turns.add(m.resource())
	}
	if o.op != store.OpDelete && !m.over() {
		g.orders.add(m.Metadata.Name)
	}
}

// migration is the part of an order that its controller reads.
type migration struct {
	Metadata struct {
		Name, UID         string
		Generation        int64
		CreationTimestamp time.Time
	}
	Spec struct {
		Resource struct{ Group, Version, Resource string }
	}
	Status struct {
		Conditions      []struct{ Type, Status string }
		ResourceVersion string
	}
}

func readMigration(body []byte) (*migration, error) {
	m := &migration{}
	return m, json.Unmarshal(body, m)
}

// is reports whether a condition is true.
func (m *migration) is(condition string) bool {
	for _, c := range m.Status.Conditions {
		if c.Type == condition && c.Status == "True" {
			return true
		}
	}
	return false
}

func (m *migration) over() bool { return m.is(migrationSucceeded) || m.is(migrationFailed) }

func (m *migration) resource() groupResource {
	return groupResource{strings.Clone(m.Spec.Resource.Group), strings.Clone(m.Spec.Resource.Resource)}
}

// order reads an order that is still to be done; nil for none.
func (g *migrations) order(ctx context.Context, name string) (*migration, error) {
	e, err := g.Store.Get(ctx, g.typ.key("", name))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := readMigration(e.Body)
	if err != nil || m.over() {
		return nil, err
	}
	return m, nil
}

// sync takes the next step of an order.
func (g *migrations) sync(ctx context.Context, name string) error {
	m, err := g.order(ctx, name)
	if err != nil || m == nil || g.takeTurns() && !m.is(migrationRunning) {
		return err
	}
	if m.Status.ResourceVersion == "" {
		return g.begin(ctx, m)
	}
	return g.run(ctx, m)
}

// Errors after which an order is tried again.
var (
	errNotServed = errors.New("the resource is not served, or not yet")
	errFuture    = errors.New("the order is about a later state of the store")
	errDropped   = errors.New("the order is not there any more")
)

// target is the type of the objects of an order. A type that is served but not stored is nil, and its name
// is gvr.
func (g *migrations) target(m *migration) (t *Type, gvr string, served bool) {
	of := m.Spec.Resource
	version, served := g.Served(of.Group, of.Resource, of.Version)
	if !served {
		return nil, "", false
	}
	if t = g.find(of.Group, of.Resource); t == nil && g.Custom != nil {
		for _, custom := range g.Custom.All() {
			if custom.GV.Group == of.Group && custom.Plural == of.Resource {
				t = custom
			}
		}
	}
	return t, fmt.Sprintf("%s, Resource=%s", strings.TrimPrefix(of.Group+"/"+version, "/"), of.Resource), true
}

// patient reports whether a resource that is not served may still come.
func (g *migrations) patient(m *migration) bool {
	return m.Metadata.CreationTimestamp.Add(migrationPatience).After(g.Now())
}

// begin notes the revision up to which objects are written again.
func (g *migrations) begin(ctx context.Context, m *migration) error {
	switch t, gvr, served := g.target(m); {
	case !served && !g.alpha() && g.patient(m):
		return errNotServed
	case !served:
		return g.fail(ctx, m, "resource does not exist in discovery")
	case t == nil && g.alpha():
		return g.fail(ctx, m, "resource not found")
	case t == nil:
		return g.fail(ctx, m, fmt.Sprintf("resource %q does not support discovery operations: [update patch list]", gvr))
	}
	at, err := g.Store.Newest(ctx)
	if err != nil {
		return err
	}
	return g.noteRevision(ctx, m, strconv.FormatUint(at, 10))
}

// run writes the objects again, and says how that went.
func (g *migrations) run(ctx context.Context, m *migration) error {
	t, _, served := g.target(m)
	switch {
	case !served && g.patient(m):
		return errNotServed
	case !served && g.alpha():
		return g.fail(ctx, m, "resource not found")
	case !served || t == nil:
		return g.failBy(ctx, m, errors.New("unable to obtain GVR from discovery"))
	}
	until, err := strconv.ParseUint(m.Status.ResourceVersion, 10, 64)
	switch {
	case err != nil:
		return g.failBy(ctx, m, fmt.Errorf("error comparing resource versions between GC and SVM resource: %w", err))
	case until > g.Store.Current():
		return errFuture
	}
	if !g.takeTurns() {
		if err := g.note(ctx, m, migrationRunning, "StorageVersionMigrationInProgress", ""); err != nil {
			return err
		}
	}
	switch err := g.rewrite(ctx, m, t, until); {
	case errors.Is(err, errDropped):
		return nil
	case err == nil:
		return g.note(ctx, m, migrationSucceeded, "StorageVersionMigrationSucceeded", "")
	case ctx.Err() != nil || mayPass(err):
		return err
	default:
		return g.failBy(ctx, m, err)
	}
}

// mayPass reports whether a failed write may succeed later.
func mayPass(err error) bool {
	var unreadable *store.UnreadableError
	var refused *api.Error
	if errors.As(err, &refused) {
		switch refused.Reason {
		case api.ReasonTimeout, api.ReasonTooManyRequests, api.ReasonServiceUnavailable, api.ReasonInternalError:
			return true
		}
		return false
	}
	return !errors.As(err, &unreadable)
}

// rewrite writes the objects of a type, up to a revision, that are not stored as they would be today.
// Errors: errDropped, and the first ones of reads and writes.
func (g *migrations) rewrite(ctx context.Context, m *migration, t *Type, until uint64) error {
	for from := ""; ; {
		switch now, err := g.order(ctx, m.Metadata.Name); {
		case err != nil:
			return err
		case now == nil || now.Metadata.UID != m.Metadata.UID:
			return errDropped
		}
		keys, err := g.page(ctx, t, from, until)
		if err != nil || len(keys) == 0 {
			return err
		}
		if errs := forEach(ctx, migrationWriters, keys, func(ctx context.Context, key string) error {
			namespace, name := t.split(key)
			err := g.Cluster.Edit(ctx, t.Resource, namespace, name, "", noChange)
			if hasReason(err, api.ReasonConflict) {
				return nil // another write was faster, and has the present form
			}
			return ignoreNotFound(err)
		}); len(errs) > 0 {
			return errs[0]
		}
		from = keys[len(keys)-1] + "\x00"
	}
}

// page finds the keys of the next objects that were not written after a revision.
func (g *migrations) page(ctx context.Context, t *Type, from string, until uint64) (keys []string, err error) {
	view, err := g.Store.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	return keys, view.ScanMeta(ctx, t.Prefix, from, func(e *store.Entry) bool {
		if e.Revision <= until {
			keys = append(keys, strings.Clone(e.Key))
		}
		return len(keys) < migrationPage
	})
}
