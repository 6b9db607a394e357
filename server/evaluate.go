package server

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// The steps of an evaluation. Up to convert they see the object in the version of the
// write, from there on in the one that is stored.

// show gives the basis in the version of the write.
func (e *evaluation) show() error {
	if e.was = e.old; e.resource.Conversion == nil || e.deletes != nil {
		return nil
	}
	doc, err := convert.FromStorage(e.resource.Resource, e.old)
	if err != nil {
		return err
	}
	e.was = e.keep(doc)
	shown := *e.current
	shown.Body = e.was.AppendJSON(nil)
	e.shown = &shown
	return nil
}

// beNew makes an object that was sent the one to create, with a name.
func (e *evaluation) beNew(obj document.Value) (document.Value, error) {
	meta := obj.SetObject("metadata")
	if err := matchNamespace(e.resource, meta, e.namespace); err != nil {
		return obj, err
	}
	name, prefix := meta.Get("name").Text(), meta.Get("generateName").Text()
	if err := e.s.namespaceAccepts(e.ctx, e.resource, e.namespace, name); err != nil {
		return obj, err
	}
	e.version = meta.Get("resourceVersion").Text()
	if e.generated = name == "" && prefix != ""; e.generated {
		meta.SetString("name", generateName(prefix))
	}
	return obj, nil
}

// dropSystem takes out of a new object what its author says nothing in. Nobody owns it.
func (e *evaluation) dropSystem() error {
	meta := e.obj.SetObject("metadata")
	e.opts.dropRepeatedOwners(meta)
	if !e.opts.patched { // what an apply says is deleted is created so, as in 1.25
		dropSystemFields(meta)
	}
	return nil
}

// compare refuses an update of another object, or of another version, than is there.
func (e *evaluation) compare() error {
	meta := e.obj.Get("metadata")
	e.opts.dropRepeatedOwners(meta)
	return checkPreconditions(e.resource, e.name, meta, e.was.Get("metadata"), e.opts.patched)
}

// own records who owns what. Where hooks convert, convert does.
func (e *evaluation) own() error {
	if e.hooked() {
		return nil
	}
	return e.s.own(e.ref, e.was, e.obj, e.opts)
}

func (e *evaluation) hooked() bool {
	return e.resource.Conversion != nil && e.resource.Conversion.FromStorage.Hook != nil
}

// convert turns the object into the version that is stored. Rules that hold in the
// version of the write only are applied here.
func (e *evaluation) convert() error {
	if e.resource.Conversion == nil {
		return nil
	}
	e.causes = validateRules(e.resource, e.obj, e.was, e.was)
	doc, err := stored.Convert(e.resource, e.obj, e.old)
	if err != nil {
		return err
	}
	e.obj = e.keep(doc)
	if !e.hooked() || e.opts.applied {
		return nil
	}
	return e.ownShown()
}

// ownShown records who owns what of the object as it is shown in the version of the
// write: where hooks convert, a field may become an annotation there.
func (e *evaluation) ownShown() error {
	doc, err := convert.FromStorage(e.resource.Resource, e.obj)
	if err != nil {
		return err
	}
	defer doc.Release()
	shown := doc.Root()
	if err := e.s.own(e.ref, e.was, shown, e.opts); err != nil {
		return err
	}
	e.obj.SetObject("metadata").Put("managedFields", shown.At("metadata", "managedFields"))
	return nil
}

func (e *evaluation) prepareNew() error {
	e.s.prepareCreate(e.stored.resource, e.obj, e.namespace, e.opts.user)
	return nil
}

func (e *evaluation) prepare() error {
	prepareUpdate(e.stored, e.obj, e.old)
	if e.stored.resource.Role == api.RoleSigningRequests && e.stored.writesStatus() {
		e.causes = append(e.causes, prepareSigning(e.sub.Endpoint, e.obj, e.old, e.s.now())...)
	}
	return nil
}

// admit lets the admission plug-ins see the object that may change it.
func (e *evaluation) admit() error {
	r := e.admission()
	return e.s.admission.Admit(e.ctx, &r)
}

// check lets those see it that only look, once it is valid.
func (e *evaluation) check() error {
	r := e.admission()
	return e.s.admission.Check(e.ctx, &r)
}

// claimAddresses gives a service the addresses and ports that it needs. An abandoned
// evaluation gives them back.
func (e *evaluation) claimAddresses() (err error) {
	if e.stored.sub == nil {
		e.claim, err = e.s.services.claim(e.stored.resource, e.obj, e.old, e.opts.dryRun)
	}
	return err
}

// validate refuses an object that breaks rules.
func (e *evaluation) validate() error {
	causes := append(validate(e.stored, e.obj, e.old), e.causes...)
	if len(causes) == 0 {
		return nil
	}
	if e.resource.MetadataLast && !e.old.Exists() {
		causes = metadataLast(causes)
	}
	name := e.obj.Get("metadata").Get("name").Text()
	if e.generated {
		name = ""
	}
	return e.stored.resource.Invalid(name, causes)
}

// refuseVersion refuses a new object that says which version it is of: when it is
// stored, so not in a dry run, as in 1.25. Text that is no number names no version.
func (e *evaluation) refuseVersion() error {
	if version, _ := strconv.ParseUint(e.version, 10, 64); version != 0 && !e.opts.dryRun {
		return api.BadRequest("resourceVersion should not be set on objects to be created, found \"%d\"", version)
	}
	return nil
}

// collectWarnings finds what the author of the write should know of the object, which is
// valid. In endpoints other than that of the object itself it was said before.
func (e *evaluation) collectWarnings() error {
	hooks := e.stored.resource.Hooks
	if e.opts.author != nil && hooks != nil && hooks.Warn != nil && (e.sub == nil || e.sub.Scale != nil) {
		e.told = append(e.told, hooks.Warn(e.obj, e.old)...)
	}
	return nil
}

// seal makes the write of the object. What watchers see last of one that has nothing
// left to wait for is what was there last.
func (e *evaluation) seal() error {
	row, of := e.stored.resource, e.obj
	if e.current != nil {
		apply.KeepTimes(e.obj, e.old)
		if finished(e.obj) {
			e.made.Op, of = store.OpDelete, e.old
		}
	}
	value, err := e.s.seal(row, of)
	switch {
	case err != nil:
		return err
	case e.current == nil:
		e.made = store.Write{Op: store.OpCreate, Value: value}
	case e.made.Op == store.OpDelete:
		e.made.Value = value
	case !stored.Unchanged(value, e.current):
		e.made = store.Write{Op: store.OpUpdate, Value: value, Frees: e.obj.At("metadata", "deletionTimestamp").Exists()}
	}
	return nil
}
