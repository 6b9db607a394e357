package objects

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// The finalizers by which a delete requests work of the garbage collector.
const (
	finalizerOrphan     = "orphan"
	finalizerForeground = "foregroundDeletion"
)

// DeleteOptions are the options of a delete, from the body and the query.
type DeleteOptions struct {
	DryRun        bool
	Grace         *int64      // seconds
	Propagation   string      // "", Orphan, Background, Foreground
	UID, Revision *string     // preconditions; nil for none
	By            *authn.User // nil for the server
	Author        Author      // nil for the server
	Admitted      bool        // admission has seen the delete, or another write that asks for it
	Collected     bool        // the object is one of a collection that is deleted
	Cascade       bool        // orphanDependents=false: an object that stays for a while is answered with 202
	Orphans       *bool       // orphanDependents, if that named the policy
	marked        string      // the uid of the object that the first step of the delete has marked
}

var camel = regexp.MustCompile("[A-Z]")

// CheckProtected refuses the delete of an object that the server needs.
func CheckProtected(res *api.Resource, name string) error {
	if res = res.Storage(); slices.Contains(res.ProtectedNames, name) {
		why := "this " + strings.ToLower(res.Kind) + " may not be deleted"
		if res.Role != api.RoleNamespaces { // the words of 1.25
			why = "this is a system" + camel.ReplaceAllStringFunc(res.Kind, func(upper string) string { return " " + strings.ToLower(upper) }) + " and cannot be deleted"
		}
		return api.Forbidden(res.GroupResource(), name, why)
	}
	return nil
}

// DeleteObject removes an object or, because of finalizers or a grace period, marks it as
// terminating. gone reports which; entry is the last state, with the resourceVersion that
// the object had, or from 1.26 on that of its deletion. An object with a grace period is marked first and then removed, even if
// the period is zero: watchers see both.
func (o *Objects) DeleteObject(ctx context.Context, of Ref, opts DeleteOptions) (entry store.Entry, gone bool, err error) {
	first, err := o.deleteStep(ctx, of, opts)
	if err != nil || first.ending != endsNext || opts.DryRun {
		return first.Entry, first.ending == endsNext || first.ending == ended, err
	}
	uid := UIDOf(first.Body)
	next := opts // admission sees both steps, as in 1.25
	next.marked, next.Grace, next.Revision = uid, new(int64), nil
	second, err := o.deleteStep(ctx, of, next)
	var refused *api.Error
	if second.ending == ended && len(second.Body) > 0 && o.since("1.26") {
		return second.Entry, true, nil
	}
	if second.ending == ended || errors.As(err, &refused) && (refused.Reason == api.ReasonNotFound || refused.Reason == api.ReasonConflict) {
		return first.Entry, true, nil // another delete may have been faster
	}
	return second.Entry, false, err
}

// ending is the effect of a delete's step on an object.
type ending uint8

const (
	endsLater ending = iota // it waits for finalizers or its grace period
	endsNext                // its grace period is over, and the next step removes it
	ended
)

// The steps of each write of a delete, which change the basis itself.
var (
	deleteSteps   = []step{(*Evaluation).compareDeleted, (*Evaluation).admitDelete, (*Evaluation).keep, (*Evaluation).end}
	admittedSteps = []step{(*Evaluation).compareDeleted, (*Evaluation).keep, (*Evaluation).end}
)

// deleteStep is one write of a delete.
func (o *Objects) deleteStep(ctx context.Context, of Ref, opts DeleteOptions) (Result, error) {
	steps := deleteSteps
	if opts.Admitted {
		steps = admittedSteps
	}
	return o.Write(ctx, &Write{Ref: of, Opts: Options{User: opts.By, Author: opts.Author, DryRun: opts.DryRun}, Steps: steps, deletes: &opts,
		Change: func(e *Evaluation) (document.Value, error) {
			if e.current == nil {
				return document.Value{}, api.NotFound(of.Row.GroupResource(), of.Name)
			}
			return e.old, nil
		}})
}

// compareDeleted refuses a delete whose preconditions do not hold.
func (e *Evaluation) compareDeleted() error {
	kind := e.Row.Kind
	if role := e.stored.Row.Role; role == api.RoleNamespaces || role == api.RoleDefinitions { // they have steps and messages of their own
		kind = e.Row.Plural
	}
	return e.deletes.check(api.GroupResource{Resource: kind, Group: e.stored.Row.GroupOfErrors()}, e.Name, e.old.Get("metadata"))
}

// admitDelete runs admission, unless the delete has no effect.
func (e *Evaluation) admitDelete() error {
	if awaitsContent(e.stored.Row, e.obj) {
		return nil
	}
	if err := e.admit(); err != nil {
		return err
	}
	return e.check()
}

// awaitsContent reports whether obj is a namespace whose deletion has begun and waits for its
// content: another delete changes nothing.
func awaitsContent(res *catalog.Row, obj document.Value) bool {
	return IsNamespace(res) && obj.At("metadata", "deletionTimestamp").Exists() && obj.At("spec", "finalizers").Len() > 0
}

// end makes the write that removes the object, or marks it as terminating. A removed one is
// answered as it was, with the finalizers that the delete has dropped.
func (e *Evaluation) end() (err error) {
	e.made, e.ending, err = e.removal()
	if err != nil || e.ending != ended || !e.answersObject() {
		return err
	}
	doc, err := document.ReadStored(e.basisRow.GV.Types(), e.basisRow.Type, e.current.Body)
	if err == nil {
		e.obj = e.Keep(doc)
	}
	return err
}

// check compares the preconditions; of is the resource in a refusal.
func (o *DeleteOptions) check(of api.GroupResource, name string, meta document.Value) error {
	conflict := func(what, asked, have, why string) error {
		return api.Conflict(of, name,
			"the "+what+" in the precondition ("+asked+") does not match the "+what+" in record ("+have+"). The object might have been "+why)
	}
	if o.UID != nil {
		if have := meta.Get("uid").Text(); *o.UID != have {
			return conflict("UID", *o.UID, have, "deleted and then recreated")
		}
	}
	if o.marked != "" && o.marked != meta.Get("uid").Text() {
		return conflict("UID", o.marked, meta.Get("uid").Text(), "deleted and then recreated")
	}
	if o.Revision != nil {
		if have := meta.Get("resourceVersion").Text(); *o.Revision != have {
			return conflict("ResourceVersion", *o.Revision, have, "modified")
		}
	}
	return nil
}

// propagation is the policy of a delete: the requested one, otherwise the one that the
// object's finalizers imply, otherwise that of its kind. "" leaves the finalizers as they
// are.
func propagation(res *catalog.Row, meta document.Value, asked string) string {
	switch {
	case res.Dependents == api.DependentsNone:
		return "Background"
	case asked != "":
		return asked
	case meta.Get("finalizers").HasText(finalizerOrphan), meta.Get("finalizers").HasText(finalizerForeground):
		return ""
	case res.Dependents == api.DependentsOrphaned:
		return "Orphan"
	}
	return ""
}

// setPropagation sets the garbage collector's finalizer and reports whether that changed
// anything.
func setPropagation(meta document.Value, policy string) bool {
	want := ""
	switch policy {
	case "":
		return false
	case "Orphan":
		want = finalizerOrphan
	case "Foreground":
		want = finalizerForeground
	}
	had, changed := false, false
	var keep []string
	for _, f := range meta.Get("finalizers").Elements() {
		switch text := f.Text(); {
		case text == want:
			had = true
			keep = append(keep, text)
		case text == finalizerOrphan || text == finalizerForeground:
			changed = true
		default:
			keep = append(keep, text)
		}
	}
	if want != "" && !had {
		keep = append(keep, want)
		changed = true
	}
	if changed {
		meta.Remove("finalizers")
		if len(keep) > 0 {
			list := meta.SetArray("finalizers")
			for _, f := range keep {
				list.AppendString(f)
			}
		}
	}
	return changed
}

// Propagate reads the propagation policy.
func (o *DeleteOptions) Propagate(policy string, causes []schema.Cause) []schema.Cause {
	o.Propagation = policy
	switch policy {
	case "Orphan", "Background", "Foreground":
		return causes
	}
	return append(causes, api.NotSupported("propagationPolicy", policy, "Foreground", "Background", "Orphan", "nil"))
}

// Orphan reads the older spelling of the propagation policy.
func (o *DeleteOptions) Orphan(on bool, causes []schema.Cause) []schema.Cause {
	o.Cascade, o.Orphans = !on, &on
	if o.Propagation != "" {
		return append(causes, schema.Cause{Reason: schema.CauseInvalid, Field: "propagationPolicy",
			Message: "Invalid value: \"" + o.Propagation + "\": orphanDependents and deletionPropagation cannot be both set"})
	}
	o.Propagation = "Background"
	if on {
		o.Propagation = "Orphan"
	}
	return causes
}

// Read reads the options from a DeleteOptions object.
func (o *DeleteOptions) Read(obj document.Value) (causes []schema.Cause) {
	if n, ok := obj.Get("gracePeriodSeconds").Int(); ok {
		o.Grace = &n
	}
	if v := obj.Get("propagationPolicy"); v.Exists() {
		causes = o.Propagate(v.Text(), causes)
	}
	if v := obj.Get("orphanDependents"); v.Exists() {
		causes = o.Orphan(v.Bool(), causes)
	}
	for _, v := range obj.Get("dryRun").Elements() {
		if v.Equals("All") {
			o.DryRun = true
		} else {
			causes = append(causes, api.NotSupported("dryRun", v.Text(), "All"))
		}
	}
	o.UID, o.Revision = TextAt(obj, "preconditions", "uid"), TextAt(obj, "preconditions", "resourceVersion")
	return causes
}

// TextAt is the text at a path, or nil.
func TextAt(obj document.Value, path ...string) *string {
	v := obj.At(path...)
	if !v.Exists() {
		return nil
	}
	text := v.Text()
	return &text
}

// UIDOf is the uid of a stored object.
func UIDOf(body []byte) string {
	uid, _ := document.Find(body, "metadata", "uid")
	return strings.Trim(string(uid), `"`)
}

// holdDefinition adds to a deleted definition the finalizer that waits until its objects
// are gone, and the condition.
func (o *Objects) holdDefinition(obj document.Value) {
	if finalizers := obj.Get("metadata").SetArray("finalizers"); !finalizers.HasText(DefinitionFinalizer) {
		finalizers.AppendString(DefinitionFinalizer)
	}
	terminating := api.Condition{Type: "Terminating", Status: "True", Reason: "InstanceDeletionPending",
		Message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon"}
	terminating.Set(obj.SetObject("status").SetArray("conditions"), o.Now())
}

const (
	DefinitionGroup = "apiextensions." + profile.GroupSuffix
	// DefinitionFinalizer keeps a definition until none of its objects is left.
	DefinitionFinalizer = "customresourcecleanup." + DefinitionGroup
	// DefinitionManager is the manager of the status of definitions.
	DefinitionManager = "kube-apiserver"
)
