package apply

import (
	"github.com/capstan-dev/capstan/internal/document"
)

// store writes all entries into an object's metadata.
func (l ledger) store(meta document.Value) {
	l.sort()
	space := grammar{}.fieldsWriter()
	defer space.release()
	if space.out = l.appendJSON(space.out[:0]); len(l) == 0 || meta.SetStored("managedFields", space.out) != nil {
		meta.Remove("managedFields")
	}
}

// manyEntries is the number of entries from which moving them one by one does not pay.
const manyEntries = 100

// edit is store for entries that were read from the same metadata. Unchanged entries stay
// in place, unless a new one comes before them.
func (l ledger) edit(meta document.Value) {
	if len(l) > manyEntries {
		l.store(meta)
		return
	}
	l.sort()
	list := meta.Get("managedFields")
	kept, at := 0, 0
	for _, v := range list.Elements() {
		if kept == len(l) || l[kept].stored != v {
			list.RemoveIndex(at) // removed, or moved to the end
			continue
		}
		if l[kept].changed {
			l[kept].write(v)
		}
		kept++
		at++
	}
	for _, e := range l[kept:] {
		switch {
		case e.changed && !e.moved():
			e.write(list.AppendObject())
		default:
			list.AppendValue(e.stored)
		}
	}
	if len(l) == 0 {
		meta.Remove("managedFields")
	}
}

// moved prepares an entry for being copied: it writes its changes in place first. It is
// false for a new entry.
func (e *entry) moved() bool {
	if !e.stored.Exists() {
		return false
	}
	e.write(e.stored)
	return true
}

// write makes v, an entry in a document, equal to e.
func (e *entry) write(v document.Value) {
	if !e.stored.Exists() {
		v.SetString("manager", e.id.Manager)
		v.SetString("operation", e.id.Operation)
		v.SetString("apiVersion", e.version)
		v.SetString("fieldsType", "FieldsV1")
		if e.id.Subresource != "" {
			v.SetString("subresource", e.id.Subresource)
		}
	}
	if e.time != "" && !v.Get("time").Equals(e.time) {
		v.SetString("time", e.time)
	}
	if e.owns {
		// The text of a set is canonical.
		_ = v.SetStored("fieldsV1", e.appendFields(make([]byte, 0, 1024)))
	}
}
