package background

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/controller"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/bootstrap"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// systemNamespaces exist from the start.
var systemNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// Prepare writes what the first request may need: the namespaces, and the ranges of addresses, which the start tries again.
func (c *Controllers) Prepare(ctx context.Context) error {
	if err := c.CreateNamespaces(ctx); err != nil {
		return err
	}
	if err := c.KeepServiceRanges(ctx); err != nil {
		c.log.Warn("the object of --service-cluster-ip-range is not as it should be", "error", err)
	}
	return nil
}

// CreateNamespaces creates the namespaces that exist before the first request.
func (c *Controllers) CreateNamespaces(ctx context.Context) error {
	for _, name := range systemNamespaces {
		o := bootstrap.Object{Name: name, JSON: []byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"` + name + `"}}`)}
		if err := c.provide(ctx, c.catalog.Snapshot().Core("namespaces"), o); err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return nil
}

// bootstrapWriters is the number of objects created at once: their commits share syncs of
// the disk, and requests still have room.
const bootstrapWriters = 8

// keepBootstrapped repeats the steps of the start until all are done or ctx ends.
func (c *Controllers) keepBootstrapped(ctx context.Context) {
	work := append([]chore{{line: objectsLine, step: c.startup.objects, do: (*Controllers).bootstrap}}, c.chores...)
	for ctx.Err() == nil {
		failed := make([]error, lines)
		var running sync.WaitGroup
		for line := range failed {
			running.Go(func() { failed[line] = c.stepsOf(ctx, line, work) })
		}
		running.Wait()
		err := errors.Join(failed...)
		if err == nil {
			close(c.startup.done)
			return
		}
		if ctx.Err() != nil {
			return // the server stops
		}
		c.log.Error("objects that every cluster has could not be written; trying again", "error", err, "in", c.cfg.Pauses.Retry)
		controller.Pause(ctx, c.cfg.Pauses.Retry)
	}
}

// stepsOf does the steps of a line that are not done yet. One that fails does not keep the later ones from being tried.
func (c *Controllers) stepsOf(ctx context.Context, line int, work []chore) error {
	var failed []error
	for _, w := range work {
		if w.line != line || w.step == nil || w.step.Finished() {
			continue
		}
		err := w.do(c, ctx)
		if err == nil {
			close(w.step.done)
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

func (c *Controllers) bootstrap(ctx context.Context) error { return c.reconcileBootstrap(ctx, "") }

// flowGroup is the group whose objects are reconciled periodically, not only at the
// start.
const flowGroup = "flowcontrol.apiserver." + profile.GroupSuffix

// ReconcileFlowControl is reconcileBootstrap for the objects of flowGroup.
func (c *Controllers) ReconcileFlowControl(ctx context.Context) error {
	return c.reconcileBootstrap(ctx, flowGroup+"/")
}

// reconcileBootstrap creates or reconciles every object of server/internal/bootstrap
// whose kind is served, and whose apiVersion begins with prefix.
func (c *Controllers) reconcileBootstrap(ctx context.Context, prefix string) error {
	all, err := bootstrap.Objects(profile.GroupSuffix, profile.LabelDomain, c.cfg.Release)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(o bootstrap.Object) bool {
		return !strings.HasPrefix(o.APIVersion, prefix) || c.cfg.DisablePriorityAndFairness && strings.HasPrefix(o.APIVersion, flowGroup+"/")
	})
	work := make(chan bootstrap.Object)
	failures := make(chan error, len(all))
	var writers sync.WaitGroup
	for range bootstrapWriters {
		writers.Go(func() {
			for o := range work {
				if err := c.reconcileObject(ctx, o); err != nil {
					failures <- fmt.Errorf("%s %s: %w", o.Kind, o.Name, err)
				}
			}
		})
	}
	for _, o := range all {
		work <- o
	}
	close(work)
	writers.Wait()
	close(failures)
	var some []error
	for err := range failures {
		some = append(some, err)
	}
	return errors.Join(some...)
}

// reconcileObject is reconcileBootstrap for one object. A kind that is not served is
// skipped.
func (c *Controllers) reconcileObject(ctx context.Context, o bootstrap.Object) error {
	res := c.catalog.Snapshot().Kind(o.APIVersion, o.Kind)
	if res == nil || !c.catalog.Snapshot().Serves(res.GV.Group, res.Plural) || ctx.Err() != nil {
		return ctx.Err()
	}
	if there, err := c.has(ctx, res, o); err != nil {
		return err
	} else if !there {
		return c.provide(ctx, res, o)
	}
	reconcile, annotation := bootstrap.Reconcile, "rbac.authorization."+profile.LabelDomain+"/autoupdate"
	switch res.GV.Group {
	case "rbac.authorization." + profile.GroupSuffix:
	case flowGroup:
		reconcile, annotation = bootstrap.ReconcileSpec, "apf."+profile.LabelDomain+"/autoupdate-spec"
	default:
		return nil
	}
	want, err := c.objects.DecodeOwn(res, o.JSON)
	if err != nil {
		return err
	}
	defer want.Release()
	return c.reconcileWith(ctx, res, o, func(current document.Value) bootstrap.Verdict {
		return reconcile(current, want.Root(), annotation)
	})
}

// optionsOf are the options of writes of the objects of every cluster, with the manager of 1.25.
func optionsOf(res *catalog.Row) (opts objects.Options) {
	if res.GV.Group == flowGroup {
		opts.Manager = "api-priority-and-fairness-config-producer-v1"
	}
	return opts
}

// provide creates an object if it is missing.
func (c *Controllers) provide(ctx context.Context, res *catalog.Row, o bootstrap.Object) error {
	if there, err := c.has(ctx, res, o); there || err != nil {
		return err
	}
	_, err := c.objects.Write(ctx, &objects.Write{Ref: objects.Ref{Row: res, Namespace: o.Namespace}, Opts: optionsOf(res), Creates: true,
		Change: objects.NewObject(nil, func() (*document.Document, error) { return c.objects.DecodeOwn(res, o.JSON) })})
	if err == nil || api.IsReason(err, api.ReasonAlreadyExists) {
		return nil
	}
	if there, _ := c.has(ctx, res, o); there { // another server was quicker, and has the address of a service, say
		return nil
	}
	return err
}

// has reports whether an object of a name is there.
func (c *Controllers) has(ctx context.Context, res *catalog.Row, o bootstrap.Object) (bool, error) {
	_, err := c.store.Get(ctx, res.Key(o.Namespace, o.Name))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// reconcileWith writes an existing object by the verdict of reconcile.
func (c *Controllers) reconcileWith(ctx context.Context, res *catalog.Row, o bootstrap.Object, reconcile func(current document.Value) bootstrap.Verdict) error {
	verdict := bootstrap.Keep
	of := objects.Ref{Row: res, Namespace: o.Namespace, Name: o.Name}
	_, err := c.objects.Write(ctx, &objects.Write{Ref: of, Opts: optionsOf(res), Change: objects.Editing(func(current document.Value) error {
		if verdict = reconcile(current); verdict != bootstrap.Update {
			return objects.ErrNothing
		}
		return nil
	})})
	if err != nil || verdict != bootstrap.Replace {
		return err
	}
	if _, _, err := c.objects.DeleteObject(ctx, of, objects.DeleteOptions{}); err != nil {
		return err
	}
	return c.provide(ctx, res, o)
}
