package custom

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/definitions"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// finalizeApart removes the objects of a definition that is deleted, while the follower
// goes on: there may be many.
func (f *Follower) finalizeApart(ctx context.Context, key string) {
	if _, busy := f.finalizing.LoadOrStore(key, true); busy {
		return
	}
	f.running.Go(func() {
		defer f.finalizing.Delete(key)
		_, name := f.Row.SplitKey(key)
		d := f.all.View().Get(key)
		if d == nil || !d.finalize { // it has been done meanwhile
			return
		}
		if err := f.finalize(ctx, name, d); err != nil && ctx.Err() == nil && !api.IsReason(err, api.ReasonNotFound) {
			f.Logger.Error("cannot remove the objects of a custom resource definition; trying again", "definition", name, "error", err, "in", f.Retry)
			wait(ctx, f.Retry)
		}
	})
}

// finalize deletes the objects of a definition, and removes its finalizer when none is
// left.
func (f *Follower) finalize(ctx context.Context, name string, d *definition) error {
	if d.accepted() && d.conditions["Terminating"].reason == "InstanceDeletionPending" {
		err := f.terminating(ctx, name, outcome{"True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"})
		if err != nil {
			return err
		}
	}
	left, err := f.deleteObjects(ctx, d)
	if err != nil {
		return errors.Join(err, f.terminating(ctx, name, outcome{"True", "InstanceDeletionFailed", "could not delete all objects"}))
	}
	if left > 0 {
		return nil // it is processed again after a pause
	}
	if err := f.terminating(ctx, name, outcome{"False", "InstanceDeletionCompleted", "removed all instances"}); err != nil {
		return err
	}
	return f.edit(ctx, name, "", func(obj document.Value) bool {
		obj.At("metadata", "finalizers").RemoveFunc(func(v document.Value) bool { return v.Equals(objects.DefinitionFinalizer) })
		return true
	})
}

// terminating reports the progress of a definition's deletion in its conditions.
func (f *Follower) terminating(ctx context.Context, name string, o outcome) error {
	return f.edit(ctx, name, "status", func(obj document.Value) bool {
		o.set(obj, "Terminating", f.Objects.Now())
		return true
	})
}

// deleteObjects deletes all objects of a terminating type, and counts those that are
// left. The definition is in the read set of creates, so no object comes after a view that
// is newer than its deletion.
func (f *Follower) deleteObjects(ctx context.Context, d *definition) (left int, err error) {
	row := f.rowOf(d)
	if row == nil {
		return 0, nil
	}
	keys, err := f.keysUnder(ctx, row.Versions.Prefix)
	if err != nil {
		return 0, err
	}
	errs := make([]error, len(keys))
	manyAtOnce(len(keys), func(i int) {
		namespace, name := row.SplitKey(keys[i])
		_, _, err := f.Objects.DeleteObject(ctx, objects.Ref{Row: row, Namespace: namespace, Name: name}, objects.DeleteOptions{})
		if !api.IsReason(err, api.ReasonNotFound) {
			errs[i] = err
		}
	})
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	keys, err = f.keysUnder(ctx, row.Versions.Prefix)
	return len(keys), err
}

// rowOf is the row of a definition's objects. One that was never accepted has no objects
// either, unless an earlier release has left some.
func (f *Follower) rowOf(d *definition) *catalog.Row {
	if d.accepted() {
		if row := f.Catalog.Snapshot().Stored(d.group, d.names.plural); row != nil && row.Definition != nil && row.Definition.UID == d.uid {
			return row
		}
		return nil // a built-in type has the name
	}
	wanted := *d
	wanted.names = d.wanted
	doc, err := document.ReadStored(f.Row.GV.Types(), f.Row.Type, d.text.Unpacked())
	if err != nil {
		return nil
	}
	defer doc.Release()
	wanted.write(doc.Root(), f.Objects.Now())
	versions := f.Rows.Of(definitions.Pack(doc.Root().AppendJSON(nil)), d.rows)
	if !fitIn(f.Catalog.Snapshot(), versions) {
		return nil
	}
	return catalog.TypesOf(versions)[0].Stored
}

func (f *Follower) keysUnder(ctx context.Context, prefix string) (keys []string, err error) {
	view, err := f.Store.At(ctx, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = view.Close() }()
	err = view.ScanMeta(ctx, prefix, "", func(e *store.Entry) bool {
		keys = append(keys, string([]byte(e.Key)))
		return true
	})
	return keys, err
}
