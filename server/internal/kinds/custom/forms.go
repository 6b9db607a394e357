package custom

import (
	"context"
	"encoding/hex"
	"maps"

	"github.com/capstan-dev/capstan/server/internal/stored"
)

// The store has a record about the objects of a definition only when the definition was
// changed after it was served: before, all objects are younger than the definition.

// form is a fingerprint of how the objects of the definition are stored.
func (d *definition) form() string { return "1-" + hex.EncodeToString(d.schema[:]) }

// noteForms records the new forms of some definitions before their objects are stored so,
// and sets since which revision objects have them. Objects of a definition whose form
// cannot be recorded all count as old: reading them is slower.
func (f *Follower) noteForms(ctx context.Context, all []served) {
	if !f.Store.KeepsForms() {
		return
	}
	forms := map[string]string{}
	for _, one := range all {
		if known := f.forms[one.name]; !one.same && known.Form != one.d.form() && (known.Form != "" || f.serving[one.key] != nil) {
			forms[one.name] = one.d.form()
		}
	}
	if len(forms) == 0 {
		return
	}
	noted, err := f.Store.NoteForms(ctx, forms)
	if err != nil {
		f.Logger.Warn("cannot note how the objects of custom resource definitions are stored; reading them is slower until the definitions change", "definitions",
			len(forms), "error", err)
	}
	maps.Copy(f.forms, noted)
	for i := range all {
		one := &all[i]
		if _, changed := forms[one.name]; !changed {
			continue
		}
		if one.since = stored.Newest; err == nil {
			one.since = noted[one.name].Since
		}
	}
}

// forgetForm removes the record about a definition that is gone.
func (f *Follower) forgetForm(ctx context.Context, name string) {
	if _, known := f.forms[name]; !known {
		return
	}
	if err := f.Store.ForgetForm(ctx, name); err != nil {
		f.Logger.Error("cannot remove the record of how the objects of a custom resource definition are stored", "definition", name, "error", err)
	}
	delete(f.forms, name)
}
