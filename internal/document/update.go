package document

import "github.com/capstan-dev/capstan/internal/schema"

// ValidateUpdate returns a cause for every immutable field that differs, and for every
// broken rule across members that tests the value before. Elements of map-like lists are
// matched by their keys, members of maps by name; elements of other lists have no
// identity, so nothing below them is immutable.
func ValidateUpdate(updated, old Value, hooks *Hooks) []schema.Cause {
	var causes []schema.Cause
	hooks.compareUpdate(&causes, updated, old)
	return causes
}

func (h *Hooks) compareUpdate(causes *[]schema.Cause, updated, old Value) {
	table, typ := updated.Type()
	if table == nil || updated.Kind() != old.Kind() || sameText(updated, old) {
		return
	}
	switch t := &table.Types[typ]; t.Kind {
	case schema.Object:
		if t.Demands != nil {
			*causes = append(*causes, h.Broken(updated, old, t.Demands.Change)...)
		}
		for i := range t.Fields {
			f := &t.Fields[i]
			if !f.Immutable && !holdsFields(table, f.Type) {
				continue
			}
			a, b := updated.Get(f.Name), old.Get(f.Name)
			if !f.Immutable {
				h.compareUpdate(causes, a, b)
			} else if !Equal(a, b) {
				path := string(appendField(updated.d.appendPath(nil, updated.n, true), f))
				*causes = append(*causes, schema.Cause{Reason: schema.CauseInvalid, Field: path,
					Message: "Invalid value: " + Shown(a) + ": field is immutable"})
			}
		}
	case schema.Map:
		if holdsFields(table, t.Elem) {
			for name, v := range updated.Members() {
				h.compareUpdate(causes, v, old.Get(name))
			}
		}
	case schema.List:
		if t.ListType == schema.ListMap && holdsFields(table, t.Elem) {
			h.compareLists(causes, t, updated, old)
		}
	}
}

func (h *Hooks) compareLists(causes *[]schema.Cause, t *schema.Type, updated, old Value) {
	byKey := make(map[string]Value, old.Len())
	var text []byte
	for _, v := range old.Elements() {
		text = appendIdentity(text[:0], v, t)
		byKey[string(text)] = v
	}
	for _, v := range updated.Elements() {
		text = appendIdentity(text[:0], v, t)
		if before, ok := byKey[string(text)]; ok && len(text) > 0 {
			h.compareUpdate(causes, v, before)
		}
	}
}

// sameText reports whether two containers are known to be equal without
// writing them.
func sameText(a, b Value) bool {
	return a.node().flags&b.node().flags&clean != 0 && Equal(a, b)
}

// holdsFields reports whether a type can have fields below it.
func holdsFields(t *schema.Table, r schema.Ref) bool {
	if r < 0 {
		return false
	}
	switch t.Types[r].Kind {
	case schema.Object, schema.Map, schema.List:
		return true
	}
	return false
}
