package objects

import (
	"context"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// Admitter runs the enabled admission plug-ins (admission.Chain).
type Admitter interface {
	Admit(ctx context.Context, r *admission.Request) error
	Check(ctx context.Context, r *admission.Request) error
	Waits(o admission.Operation, resource *api.Resource, subresource string) bool
}

// Via is a write through a subresource whose bodies are of another kind, as admission
// sees it.
type Via struct {
	Subresource string
	Obj, Old    document.Value
	Apply       func() error // makes the change of Obj one of the object; nil if it has no effect

	// Made is the body of an object, for the validating plug-ins, which see those of the
	// changed object and of the basis; nil for Obj and Old.
	Made func(obj document.Value) (document.Value, error)
}

// admission is the write as admission plug-ins see it.
func (e *Evaluation) admission() admission.Request {
	of, old := e.judged()
	r := admission.Request{Operation: admission.Create, Resource: of.Row.Resource, Namespace: e.Namespace, User: e.Opts.User, Object: e.obj, Old: old}
	r.Asked, r.Name, r.DryRun, r.By, r.Kept = e.Row.Resource, e.Name, e.Opts.DryRun, e, e.kept
	r.Patched = e.Opts.Patched || e.Opts.Applied
	if e.deletes != nil && e.deletes.Collected {
		r.Name = "" // as in 1.25
	} else if r.Name == "" && !e.generated {
		r.Name = e.obj.Get("metadata").Get("name").Text()
	}
	if e.Sub != nil && !e.writesWhole() { // what an action makes of the object is an update of it
		r.Subresource = e.Sub.Name
	}
	if e.Via != nil {
		r.Subresource, r.Object, r.Old, r.OtherKind = e.Via.Subresource, e.Via.Obj, e.Via.Old, true
	}
	switch {
	case e.deletes != nil:
		r.Operation, r.Object = admission.Delete, document.Value{}
	case r.Old.Exists():
		r.Operation = admission.Update
	}
	return r
}

// Warn implements admission.Author.
func (e *Evaluation) Warn(text string) { e.warnings = append(e.warnings, text) }

// Audited implements admission.Author.
func (e *Evaluation) Audited(bodies bool) bool {
	return e.Opts.Author != nil && e.Opts.Author.Audited(bodies)
}

// Annotate implements admission.Author.
func (e *Evaluation) Annotate(key, value string) {
	if e.Audited(false) {
		e.notes = append(e.notes, [2]string{key, value})
	}
}

// Undo implements admission.Author.
func (e *Evaluation) Undo(giveBack func()) { e.taken = append(e.taken, giveBack) }

// Options implements admission.Author.
func (e *Evaluation) Options(r *admission.Request) []byte {
	return optionsText(r.Operation, &e.Opts, e.shownOptions())
}

// shownOptions are the options of a delete as 1.25 shows them: with the grace period that
// the object has by default, and for a namespace with its uid. Those of objects of a
// collection are as they were sent.
func (e *Evaluation) shownOptions() *DeleteOptions {
	if e.deletes == nil || e.deletes.Collected {
		return e.deletes
	}
	d, row, meta := *e.deletes, e.stored.Row, e.old.Get("metadata")
	if row.Graceful != nil && !meta.Get("deletionTimestamp").Exists() {
		grace := graceOf(row.Resource, e.old, d.Grace)
		d.Grace = &grace
	}
	if IsNamespace(row) && d.UID == nil {
		d.UID = TextAt(meta, "uid")
	}
	return &d
}

// optionsText are the options of a write as an object. Those of a delete are in d.
func optionsText(operation admission.Operation, opts *Options, d *DeleteOptions) []byte {
	kind := map[admission.Operation]string{admission.Create: "CreateOptions", admission.Update: "UpdateOptions", admission.Delete: "DeleteOptions"}[operation]
	all := struct {
		Kind            string            `json:"kind"`
		APIVersion      string            `json:"apiVersion"`
		Grace           *int64            `json:"gracePeriodSeconds,omitempty"`
		Preconditions   map[string]string `json:"preconditions,omitempty"`
		Orphans         *bool             `json:"orphanDependents,omitempty"`
		Propagation     string            `json:"propagationPolicy,omitempty"`
		DryRun          []string          `json:"dryRun,omitempty"`
		FieldManager    string            `json:"fieldManager,omitempty"`
		FieldValidation string            `json:"fieldValidation,omitempty"`
	}{Kind: kind, APIVersion: "meta." + profile.GroupSuffix + "/v1", FieldManager: opts.FieldManager, FieldValidation: opts.AskedValidation}
	if opts.DryRun {
		all.DryRun = []string{"All"}
	}
	if d != nil && operation == admission.Delete {
		if all.Grace, all.Orphans = d.Grace, d.Orphans; d.Orphans == nil {
			all.Propagation = d.Propagation
		}
		for name, v := range map[string]*string{"uid": d.UID, "resourceVersion": d.Revision} {
			if v != nil {
				if all.Preconditions == nil {
					all.Preconditions = map[string]string{}
				}
				all.Preconditions[name] = *v
			}
		}
	}
	text, _ := json.Marshal(all) // texts and numbers only
	return text
}
