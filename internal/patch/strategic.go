package patch

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Strategic applies a strategic merge patch to an object of type typ. It
// merges objects like Merge; lists merge where the table says so
// (schema.Field.Patch), element by element by their merge key or as a set, and
// are replaced otherwise. Fields that the table does not know merge as plain
// JSON does.
//
// Directives, where a field of the patch is x:
//
//	$patch: replace                 in an object: the object is replaced; as an
//	                                element: the list is replaced by the others
//	$patch: delete                  in an object: it becomes empty; in an
//	                                element: elements with its merge key go
//	$patch: merge                   refused, unless there is nothing to merge with
//	$retainKeys: [a, b]             members of the object other than these go
//	$deleteFromPrimitiveList/x: []  values that go from a list of scalars
//	$setElementOrder/x: []          the order of x after the merge
//
// Order: elements of the patch come in the order of $setElementOrder, or else
// of the patch; the other elements keep theirs; an element of the latter comes
// before one of the former when it did so in the current list.
//
// Numbers of the patch are floats: 1e2 is 100.
//
// Where the behaviour of Kubernetes 1.25 serves nobody, this follows the intent of the
// patch's author: directives in a part of the patch that the object does not have yet
// take effect and are not stored, but for maps, where they are keys; null list fields of
// the object count as absent, and mistakes in a patch are a 400 with the field (some are
// a 500 there). Elements of the object without a merge key stay.
//
// Since 1.28 a member that the object lacks, or has as another kind of value, gets nothing from
// objects of the patch with $patch, whatever the word: elements, members and the member itself are
// dropped. since reports whether the release is the named one or a later one; nil stands for 1.25.
func Strategic(current, patch []byte, t *schema.Table, typ schema.Ref, limits document.Limits, since func(release string) bool) ([]byte, error) {
	cur, pat, err := decodeObjects(current, document.SpellNumbers(patch), limits)
	if err != nil {
		return nil, err
	}
	defer cur.Release()
	defer pat.Release()
	m := merger{table: t, limits: limits, repeats: maxRepeated, drops: since != nil && since("1.28")}
	return m.mergeObject(make([]byte, 0, len(current)+len(patch)), cur.Root(), pat.Root(), typ, nil)
}

// maxRepeated bounds the work for elements that a patch names more than once: the sum of
// the bytes of merged elements that are decoded again.
const maxRepeated = 16 << 20

// merger writes the merge of one patch. Its methods append the JSON of the
// result to dst and read two trees. Only dropDirected changes one, that of the patch.
type merger struct {
	table   *schema.Table
	limits  document.Limits
	repeats int  // remaining bytes of maxRepeated
	drops   bool // new members lose their objects with $patch
}

// rule is the way in which a field merges. The zero rule, with typ None, is plain JSON.
type rule struct {
	typ      schema.Ref
	strategy schema.PatchStrategy
	key      string
}

// field finds the rule of a member of an object of type typ.
func (m *merger) field(typ schema.Ref, name string) rule {
	if typ != schema.None {
		switch t := &m.table.Types[typ]; t.Kind {
		case schema.Object:
			if i := t.Field(name); i >= 0 {
				f := &t.Fields[i]
				return rule{typ: f.Type, strategy: f.Patch, key: f.Rest().PatchKey}
			}
		case schema.Map:
			return rule{typ: t.Elem}
		}
	}
	return rule{typ: schema.None}
}

// element is the type of the elements of a list of type typ.
func (m *merger) element(typ schema.Ref) schema.Ref {
	if typ != schema.None && m.table.Types[typ].Kind == schema.List {
		return m.table.Types[typ].Elem
	}
	return schema.None
}

// mergeObject merges an object of the patch into an object.
func (m *merger) mergeObject(dst []byte, cur, pat document.Value, typ schema.Ref, at *fieldPath) ([]byte, error) {
	p, err := changesOf(pat, at)
	if err != nil {
		return nil, err
	}
	switch p.directive {
	case replaceWord:
		return m.appendNew(dst, p, typ, at)
	case deleteWord:
		return append(dst, "{}"...), nil
	case mergeWord, otherWord:
		return nil, unknownDirective(pat, at)
	}
	dst = append(dst, '{')
	start := len(dst)
	for name, value := range cur.Members() {
		c := p.find(name)
		if c != nil {
			c.used = true
		}
		switch {
		case p.retain != nil && !p.retain[name]:
			if c != nil {
				c.used = false // merges like a member that the object never had
			}
		case c == nil:
			dst = value.AppendJSON(appendName(dst, start, name))
		default:
			if dst, err = m.mergeMember(dst, start, value, c, typ, at); err != nil {
				return nil, err
			}
		}
	}
	for i := range p.list {
		if c := &p.list[i]; !c.used {
			if dst, err = m.mergeMember(dst, start, document.Value{}, c, typ, at); err != nil {
				return nil, err
			}
		}
	}
	return append(dst, '}'), nil
}

// mergeMember appends the name and merged value of a member, or nothing when the change
// removes it.
func (m *merger) mergeMember(dst []byte, start int, cur document.Value, c *change, typ schema.Ref, up *fieldPath) ([]byte, error) {
	at := &fieldPath{up: up, name: c.name}
	r := m.field(typ, c.name)
	if c.isList() {
		if err := c.checkList(cur, at); err != nil {
			return nil, err
		}
		if !c.value.Exists() && cur.Kind() != document.Array { // nothing to order or to delete from
			if !cur.Exists() {
				return dst, nil
			}
			return cur.AppendJSON(appendName(dst, start, c.name)), nil
		}
	}
	if c.value.IsNull() || m.drops && cur.Kind() != c.value.Kind() && dropDirected(c.value) {
		return dst, nil
	}
	before := len(dst)
	dst = appendName(dst, start, c.name)
	var err error
	switch kind := c.value.Kind(); {
	case c.isList() || kind == document.Array && cur.Kind() == document.Array:
		return m.mergeList(dst, cur, c, r, at)
	case kind == document.Object && cur.Kind() == document.Object:
		if r.strategy&schema.PatchReplace != 0 {
			return c.value.AppendJSON(dst), nil // unchanged, as in 1.25
		}
		return m.mergeObject(dst, cur, c.value, r.typ, at)
	}
	keep := true
	if dst, keep, err = m.appendValue(dst, c.value, r, at); err != nil {
		return nil, err
	}
	if !keep {
		dst = dst[:before]
	}
	return dst, nil
}

// appendValue appends a value of the patch that has no counterpart to merge with: without
// nulls, and with its directives applied. keep is false when they remove the value. A
// list that does not merge has no directives, and in values that are not objects with
// fields they are keys, which validation checks, as in 1.25.
func (m *merger) appendValue(dst []byte, v document.Value, r rule, at *fieldPath) (_ []byte, keep bool, err error) {
	switch v.Kind() {
	case document.Object:
		if r.typ == schema.None || m.table.Types[r.typ].Kind != schema.Object {
			return appendMerged(dst, document.Value{}, v), true, nil
		}
		p, err := changesOf(v, at)
		if err != nil {
			return nil, false, err
		}
		switch p.directive {
		case deleteWord:
			return dst, false, nil
		case otherWord:
			return nil, false, unknownDirective(v, at)
		}
		dst, err = m.appendNew(dst, p, r.typ, at)
		return dst, true, err
	case document.Array:
		if r.strategy&schema.PatchMerge == 0 {
			break
		}
		dst, err = m.appendNewList(dst, v, m.element(r.typ), at)
		return dst, true, err
	}
	return v.AppendJSON(dst), true, nil
}

// appendNew appends an object of the patch that replaces or adds an object.
func (m *merger) appendNew(dst []byte, p *changes, typ schema.Ref, up *fieldPath) ([]byte, error) {
	dst = append(dst, '{')
	start := len(dst)
	for i := range p.list {
		c := &p.list[i]
		if !c.value.Exists() || c.value.IsNull() {
			continue
		}
		before, keep := len(dst), true
		var err error
		dst, keep, err = m.appendValue(appendName(dst, start, c.name), c.value, m.field(typ, c.name), &fieldPath{up: up, name: c.name})
		if err != nil {
			return nil, err
		}
		if !keep {
			dst = dst[:before]
		}
	}
	return append(dst, '}'), nil
}

// appendNewList is appendNew for a list. Elements with a directive concern elements that
// the list does not have, except for $patch: merge.
func (m *merger) appendNewList(dst []byte, list document.Value, elem schema.Ref, up *fieldPath) ([]byte, error) {
	dst = append(dst, '[')
	start := len(dst)
	for i, v := range list.Elements() {
		at := &fieldPath{up: up, index: i}
		word, _ := directiveOf(v)
		if word == replaceWord || word == deleteWord {
			continue
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		var err error
		if dst, _, err = m.appendValue(dst, v, rule{typ: elem}, at); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

// unknownDirective is the 400 of an unknown word in $patch.
func unknownDirective(v document.Value, at *fieldPath) error {
	return api.BadRequest("%s: $patch is %s, use replace or delete", at, v.Get(patchDirective).AppendJSON(nil))
}
