package registrar

import (
	"context"
	"encoding/hex"
)

// The store has a record about the objects of a definition only when the definition was
// changed after it was served: before, all objects are younger than the definition.

// form is a fingerprint of how the objects of the definition are stored.
func (d *definition) form() string { return "1-" + hex.EncodeToString(d.schema[:]) }

// outdate removes the record about another form, before objects are stored in the present
// one.
func (f *Follower) outdate(ctx context.Context, name string, d *definition) {
	if known, ok := f.forms[name]; ok && known.Form != d.form() {
		f.forget(ctx, name)
	}
}

// noteForm notes the form of a definition that has changed, so that its objects do not
// count as older than it after a restart. The record of one that is not served any more is
// removed.
func (f *Follower) noteForm(ctx context.Context, key string) {
	_, name := f.Row.SplitKey(key)
	d, known := f.serving[key], f.forms[name]
	switch {
	case d == nil && known.Form != "":
		f.forget(ctx, name)
	case d == nil || known.Form == d.form():
	default:
		row := f.Catalog.Snapshot().Stored(d.group, d.names.plural)
		if row == nil || row.Definition == nil {
			return
		}
		noted, err := f.Store.NoteForm(ctx, row.Versions.Prefix, name, d.form())
		if err != nil {
			f.Logger.Warn("cannot note how the objects of a custom resource definition are stored; reading them is slower after a restart", "definition", name, "error", err)
			return
		}
		f.forms[name] = noted
	}
}

func (f *Follower) forget(ctx context.Context, name string) {
	if err := f.Store.ForgetForm(ctx, name); err != nil {
		f.Logger.Error("cannot remove the record of how the objects of a custom resource definition are stored", "definition", name, "error", err)
	}
	delete(f.forms, name)
}
