package objects

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// An object that goes with those that it names is owned by them: each write brings its owner references into
// step with its references that cascade, and the garbage collector does the rest. The entries have no manager,
// as defaults have none, so an apply without them neither conflicts nor removes them.

// owner is an object that a reference names, and that takes along what names it.
type owner struct {
	row  *catalog.Row
	name string
}

// named reports whether an owner reference names the owner, in any version. One with a controller is that of others.
func (o owner) named(reference document.Value) bool {
	return api.GroupOf(reference.Get("apiVersion").Text()) == o.row.GV.Group &&
		reference.Get("kind").Equals(o.row.Kind) && reference.Get("name").Equals(o.name) && !reference.Get("controller").Bool()
}

// owners are the objects that the references of obj name which cascade, each once, but not obj itself.
func (e *Evaluation) owners(obj document.Value) (all []owner) {
	for i := range e.stored.Row.References {
		r := &e.stored.Row.References[i]
		if r.OnDelete != api.DeleteCascades {
			continue
		}
		row := e.s.catalog.Snapshot().Stored(r.Group, r.Resource)
		if row == nil {
			continue
		}
		r.Each(obj, func(name document.Value) {
			o := owner{row, name.Text()}
			if !slices.Contains(all, o) && !catalog.BadSegment(o.name) && e.keyOf(row, o.name) != e.ownKey() {
				all = append(all, o)
			}
		})
	}
	return all
}

// keepOwners brings the owner references into step. The entry of a name that the write does not change stays as it is, even
// if it is that of an earlier object of this name: the collector is about to remove what that one owned.
func (e *Evaluation) keepOwners() error {
	now, before := e.owners(e.obj), e.owners(e.old)
	if len(now)+len(before) == 0 {
		return nil
	}
	meta, old := e.obj.Get("metadata"), e.old.At("metadata", "ownerReferences")
	list := meta.Get("ownerReferences")
	list.RemoveFunc(func(reference document.Value) bool {
		names := func(o owner) bool { return o.named(reference) }
		return slices.ContainsFunc(before, names) && !slices.ContainsFunc(now, names) && hasOwner(old, reference.Get("uid").Text())
	})
	for _, o := range now {
		var was document.Value
		if slices.Contains(before, o) {
			if is := o.entry(list); is.Exists() {
				is.SetString("apiVersion", o.row.GV.APIVersion())
				e.kept = append(e.kept, is.Get("uid").Text())
				continue
			}
			was = o.entry(old)
		}
		if err := e.keepOwner(meta, o, was); err != nil {
			return err
		}
	}
	if list := meta.Get("ownerReferences"); list.Exists() && list.Len() == 0 {
		meta.Remove("ownerReferences")
	}
	return nil
}

// keepOwner adds the entry of an owner, if the owner is there and stays. An entry that the write removes (was) comes back, unless it is
// a collector that removes it: when the owner leaves what it owns to itself, or when it goes and other owners remain.
func (e *Evaluation) keepOwner(meta document.Value, o owner, was document.Value) error {
	entry, err := e.s.store.Get(e.ctx, e.keyOf(o.row, o.name))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	uid, list := "", meta.Get("ownerReferences")
	if err == nil && !ends(entry.Body) {
		uid = UIDOf(entry.Body)
	}
	orphans := err == nil && uid == "" && orphans(entry.Body)
	switch {
	case was.Exists() && !was.Get("uid").Equals(uid) && list.Len() == 0 && !orphans:
		uid = was.Get("uid").Text()
	case uid == "" || hasOwner(list, uid):
		return nil
	}
	reference := meta.SetArray("ownerReferences").AppendObject()
	for _, member := range [...][2]string{{"apiVersion", o.row.GV.APIVersion()}, {"kind", o.row.Kind}, {"name", o.name}, {"uid", uid}} {
		reference.SetString(member[0], member[1])
	}
	reference.SetBool("blockOwnerDeletion", true) // a delete in the foreground waits for what it takes along
	e.kept = append(e.kept, uid)
	return nil
}

// entry is the entry of the owner among owner references.
func (o owner) entry(references document.Value) document.Value {
	for _, reference := range references.Elements() {
		if o.named(reference) {
			return reference
		}
	}
	return document.Value{}
}

// orphans reports whether a stored object that is being deleted leaves what it owns to itself.
func orphans(body []byte) bool {
	finalizers, _ := document.Find(body, "metadata", "finalizers")
	return bytes.Contains(finalizers, []byte(strconv.Quote(finalizerOrphan)))
}

// hasOwner reports whether owner references have a uid.
func hasOwner(references document.Value, uid string) bool {
	for _, reference := range references.Elements() {
		if reference.Get("uid").Equals(uid) {
			return true
		}
	}
	return false
}

// keyOf is the key of an object that the evaluated one names.
func (e *Evaluation) keyOf(row *catalog.Row, name string) string {
	if row.Namespaced {
		return row.Key(e.Namespace, name)
	}
	return row.Key("", name)
}

// ownKey is the key of the evaluated object.
func (e *Evaluation) ownKey() string {
	return e.stored.Row.Key(e.Namespace, e.obj.At("metadata", "name").Text())
}
