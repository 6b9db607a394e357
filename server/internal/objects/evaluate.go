package objects

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// The steps of an evaluation. Up to convert, or convertLast, they see the object in the
// version of the write, from there on in the storage version.

// readBasis reads the basis, in its version and that of the write.
func (e *Evaluation) readBasis() (err error) {
	if e.basisRow, err = rowOf(e.stored.Row, e.current.Body); err != nil {
		return err
	}
	doc, err := document.ReadStored(e.basisRow.GV.Types(), e.basisRow.Type, e.current.Body)
	if err != nil {
		return err
	}
	e.old = e.Keep(doc)
	return e.show()
}

// show converts the basis to the version of the write.
func (e *Evaluation) show() error {
	if e.Was = e.old; e.deletes != nil {
		e.stored.Row = e.basisRow // a deletion needs no other version
		return nil
	}
	if e.Row.Conversion == nil || e.basisRow == e.Row {
		return nil
	}
	doc, err := convert.FromStorage(e.ctx, e.Row.Resource, e.old)
	if err != nil {
		return err
	}
	e.Was = e.Keep(doc)
	shown := *e.current
	shown.Body = e.Was.AppendJSON(nil)
	e.Shown = &shown
	return nil
}

// makeNew makes a sent object the one to create.
func (e *Evaluation) makeNew(obj document.Value) (document.Value, error) {
	meta := obj.SetObject("metadata")
	if err := MatchNamespace(e.Row, meta, e.Namespace); err != nil {
		return obj, err
	}
	e.dropRepeatedOwners(meta, "") // with a warning, even if there is no namespace
	name, prefix := meta.Get("name").Text(), meta.Get("generateName").Text()
	if err := e.OpenNamespace(cmp.Or(name, prefix, "Unknown")); err != nil { // the names of a refusal
		return obj, err
	}
	e.generated = name == "" && prefix != ""
	return obj, nil
}

// dropSystem removes the server's members from a new object. They have no owner.
func (e *Evaluation) dropSystem() error {
	meta := e.obj.SetObject("metadata")
	e.dropRepeatedOwners(meta, "")
	e.version = meta.Get("resourceVersion").Text()
	if e.Creates { // an apply or a PUT creates a terminating object, as in 1.25
		DropSystemFields(meta)
	}
	return nil
}

// compareUID refuses an update of another object than the stored one.
func (e *Evaluation) compareUID() error {
	meta := e.obj.Get("metadata")
	if !e.Opts.Patched {
		e.dropRepeatedOwners(meta, "")
	}
	return CheckUID(e.Row, e.Name, meta, e.Was.Get("metadata"), e.Opts.Patched)
}

// compareRevision refuses an update of another version than the stored one, or of none
// where the resource requires one.
func (e *Evaluation) compareRevision() error {
	meta := e.obj.Get("metadata")
	if err := checkConditional(e.Ref, meta); err != nil {
		return err
	}
	return CheckRevision(e.Row, e.Name, meta, e.Was.Get("metadata"))
}

// own records the ownership of fields. Where hooks convert, convert does, and the write
// itself through another kind.
func (e *Evaluation) own() error {
	e.warnOutdated()
	if e.hooked() || e.Via != nil {
		return nil
	}
	return e.s.Own(e.ctx, e.Ref, e.Was, e.obj, e.Opts)
}

func (e *Evaluation) hooked() bool {
	return e.Row.Conversion != nil && e.Row.Conversion.Rewrites()
}

// convert judges the object by the version of the write, and converts it to the storage version.
func (e *Evaluation) convert() error {
	if e.Row.Conversion == nil {
		return nil
	}
	e.written = e.judgeWritten(e.obj)
	doc, err := stored.Convert(e.ctx, e.Row, e.obj, e.old)
	if err != nil {
		return err
	}
	e.obj = e.Keep(doc)
	if !e.hooked() || e.Opts.Applied {
		return nil
	}
	return e.ownShown()
}

// ownShown records the ownership of fields as they are shown in the version of the write:
// where hooks convert, a field may become an annotation there.
func (e *Evaluation) ownShown() error {
	doc, err := convert.FromStorage(e.ctx, e.Row.Resource, e.obj)
	if err != nil {
		return err
	}
	defer doc.Release()
	shown := doc.Root()
	if err := e.s.Own(e.ctx, e.Ref, e.Was, shown, e.Opts); err != nil {
		return err
	}
	e.obj.SetObject("metadata").Put("managedFields", shown.At("metadata", "managedFields"))
	return nil
}

// judgedAsWritten reports whether the object follows the rules of the version of the
// write rather than those of another one in which it is stored.
func (e *Evaluation) judgedAsWritten() bool {
	return e.Row.Definition != nil && e.Row.Conversion != nil && e.deletes == nil
}

// judged is the target, and its earlier state, in the version whose rules the object
// follows.
func (e *Evaluation) judged() (Ref, document.Value) {
	if e.judgedAsWritten() {
		return e.Ref, e.Was
	}
	return e.stored, e.old
}

// convertLast converts an object that is judged in the version of the write.
func (e *Evaluation) convertLast() error {
	if e.Row == e.stored.Row {
		return nil
	}
	var old document.Value
	if e.basisRow == e.stored.Row {
		old = e.old
	}
	doc, err := stored.Convert(e.ctx, e.Row, e.obj, old)
	if err != nil {
		return err
	}
	e.obj = e.Keep(doc)
	return nil
}

// prepareNew sets the server's fields of a new object.
func (e *Evaluation) prepareNew() error {
	if err := e.identify(); err != nil {
		return err
	}
	meta := e.obj.Get("metadata")
	if version := meta.Get("resourceVersion").Text(); version != e.version && !e.Opts.DryRun { // a plug-in's
		if n, _ := strconv.ParseUint(version, 10, 64); n != 0 {
			return &api.Error{Code: http.StatusInternalServerError, Message: "resourceVersion should not be set on objects to be created"}
		}
	}
	if name, prefix := meta.Get("name").Text(), meta.Get("generateName").Text(); e.Name == "" {
		if e.generated = name == "" && prefix != ""; e.generated {
			meta.SetString("name", generateName(prefix))
		}
	}
	of, _ := e.judged()
	e.s.prepareCreate(of.Row, e.obj, e.Namespace, e.Opts.User)
	return nil
}

// identify refuses an object that the plug-ins have made another one.
func (e *Evaluation) identify() error {
	meta := e.obj.SetObject("metadata")
	e.dropRepeatedOwners(meta, " after mutating admission happens")
	if err := MatchNamespace(e.Row, meta, e.Namespace); err != nil {
		return err
	}
	if name := meta.Get("name").Text(); e.Name != "" && name != e.Name {
		return e.Row.Invalid(e.Name, []schema.Cause{{Reason: schema.CauseInvalid, Field: "metadata.name",
			Message: "Invalid value: " + strconv.Quote(name) + ": field is immutable"}})
	}
	return nil
}

// prepare sets the server's fields of a changed object.
func (e *Evaluation) prepare() error {
	if err := e.identify(); err != nil {
		return err
	}
	of, old := e.judged()
	prepareUpdate(of, e.obj, old)
	if e.stored.Row.Role == api.RoleSigningRequests && e.stored.writesStatus() {
		e.causes = append(e.causes, prepareSigning(e.Sub.Endpoint, e.obj, e.old, e.s.Now())...)
	}
	return nil
}

// admit runs the mutating admission plug-ins, before the server's fields are set.
func (e *Evaluation) admit() error {
	r := e.admission()
	e.named = r.Name
	if r.Operation == admission.Update && e.Row.Namespaced && e.Opts.Author != nil {
		if _, err := e.s.namespace(e.ctx, e.Namespace); err != nil { // it may be gone before its objects
			return err
		}
	}
	err := e.admitWritten(func() error { return e.s.admission.Admit(e.ctx, &r) })
	e.ranges = r.Ranges
	if err != nil || e.Via == nil || e.Via.Apply == nil {
		return err
	}
	return e.Via.Apply()
}

// check runs the validating admission plug-ins on the valid object.
func (e *Evaluation) check() error {
	r := e.admission()
	if e.Via != nil && e.Via.Made != nil {
		var err error
		if r.Object, err = e.Via.Made(e.obj); err != nil {
			return err
		}
		if r.Old, err = e.Via.Made(e.Was); err != nil {
			return err
		}
	}
	if r.Name == "" && e.generated { // by now it is known
		r.Name = e.obj.Get("metadata").Get("name").Text()
	}
	r.Name, r.Ranges = cmp.Or(e.named, r.Name), e.ranges
	err := e.s.admission.Check(e.ctx, &r)
	e.charge = r.Charge
	return err
}

// validate refuses an object that breaks rules.
func (e *Evaluation) validate() error {
	of, old := e.judged()
	of.incomplete = e.current != nil && selector.IsIncomplete(e.current.Meta)
	if err := e.wrongType(of, old); err != nil {
		return err
	}
	causes, forgiven := validateChange(of, e.obj, old, old)
	if causes = e.checkRules(of.Row, old, append(causes, e.causes...), forgiven); len(causes)+len(e.written) == 0 {
		return nil
	}
	if e.Row.MetadataLast && !e.old.Exists() {
		causes = metadataLast(causes)
	}
	e.serveFields(of, causes)
	causes = e.withWritten(causes)
	return of.Row.Invalid(e.obj.Get("metadata").Get("name").Text(), causes)
}

// metadataLast drops causes in metadata when there are others.
func metadataLast(causes []schema.Cause) []schema.Cause {
	i := slices.IndexFunc(causes, func(c schema.Cause) bool { return strings.HasPrefix(c.Field, "metadata.") })
	if i > 0 {
		return causes[:i]
	}
	return causes
}

// serveFields gives causes in a judged object the paths of the version of the write.
func (e *Evaluation) serveFields(of Ref, causes []schema.Cause) {
	for i := range causes {
		if of.Row != e.Row {
			causes[i].Field = convert.ServedPath(e.Row.Resource, causes[i].Field)
		}
	}
}

// refuseVersion refuses a new object with a resourceVersion: when it is stored, so not in
// a dry run or by an apply, as in 1.25. Text that is not a number is ignored.
func (e *Evaluation) refuseVersion() error {
	if e.version == "" || e.Opts.DryRun || e.Opts.Applied {
		return nil
	}
	if version, _ := strconv.ParseUint(e.version, 10, 64); version != 0 {
		return api.BadRequest("resourceVersion should not be set on objects to be created, found \"%d\"", version)
	}
	return nil
}

// collectWarnings collects the warnings for the author of the valid object. Endpoints
// other than that of the object itself have given theirs before.
func (e *Evaluation) collectWarnings() error {
	hooks := e.stored.Row.Hooks
	if e.Opts.Author != nil && hooks != nil && hooks.Warn != nil && (e.Sub == nil || e.Sub.Scale != nil) {
		e.warnings = append(e.warnings, hooks.Warn(e.obj, e.old)...)
	}
	return nil
}

// seal makes the store's write of the object. A terminating object with nothing left to
// wait for is removed, in its last state.
func (e *Evaluation) seal() error {
	if !e.Opts.DryRun { // which shows it as it was sent, as in 1.25
		e.obj.Get("metadata").Remove("selfLink")
	}
	restore(e.obj, document.Value{}, e.stored.Row.WriteOnly)
	if e.current != nil {
		apply.KeepTimes(e.obj, e.old)
		if finished(e.obj) {
			last, err := stored.Last(e.current, e.space)
			e.made = store.Write{Op: store.OpDelete, Value: last}
			return err
		}
	}
	if e.current == nil && e.stored.Row.HasStatus && e.stored.Row.Definition == nil {
		e.obj.Get("status").FillAll() // 1.25 does when it reads the object again
	}
	value, err := e.s.seal(e.stored.Row, e.obj, e.space)
	switch {
	case err != nil:
		return err
	case e.current == nil:
		e.made = store.Write{Op: store.OpCreate, Value: value}
	case !stored.Unchanged(value, e.current):
		e.made = store.Write{Op: store.OpUpdate, Value: value, Frees: e.obj.At("metadata", "deletionTimestamp").Exists()}
	}
	return nil
}
