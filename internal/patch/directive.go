package patch

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// The member names that are directives. The last two are followed by the name
// of a list.
const (
	patchDirective  = "$patch"
	retainDirective = "$retainKeys"
	deletePrefix    = "$deleteFromPrimitiveList"
	orderPrefix     = "$setElementOrder"
)

// word is the value of $patch.
type word uint8

const (
	noWord word = iota
	mergeWord
	replaceWord
	deleteWord
	otherWord
)

// directiveOf reads $patch of an object, if v has it.
func directiveOf(v document.Value) (word, bool) {
	d := v.Get(patchDirective)
	switch {
	case !d.Exists():
		return noWord, false
	case d.Equals("replace"):
		return replaceWord, true
	case d.Equals("delete"):
		return deleteWord, true
	case d.Equals("merge"):
		return mergeWord, true
	}
	return otherWord, true
}

// dropDirected reports whether v is an object with $patch, and takes such objects out of v otherwise.
func dropDirected(v document.Value) bool {
	switch v.Kind() {
	case document.Array:
		v.RemoveFunc(dropDirected)
	case document.Object:
		if _, directed := directiveOf(v); directed {
			return true
		}
		var gone []string
		for name, member := range v.Members() {
			if dropDirected(member) {
				gone = append(gone, name)
			}
		}
		for _, name := range gone {
			v.Remove(name)
		}
	}
	return false
}

// isList reports whether directives imply that the member is a list.
func (c *change) isList() bool { return c.order.Exists() || c.remove.Exists() }

// checkList refuses list directives that do not hold lists or belong to something that is
// not a list.
func (c *change) checkList(cur document.Value, at *fieldPath) error {
	switch {
	case c.order.Exists() && c.order.Kind() != document.Array:
		return api.BadRequest("%s: $setElementOrder/%s must be a list", at, c.name)
	case c.remove.Exists() && c.remove.Kind() != document.Array:
		return api.BadRequest("%s: $deleteFromPrimitiveList/%s must be a list", at, c.name)
	case c.value.Exists() && c.value.Kind() != document.Array && !c.value.IsNull():
		return api.BadRequest("%s: the patch has list directives for it, but its value in the patch is not a list", at)
	case !c.value.Exists() && cur.Exists() && cur.Kind() != document.Array && !cur.IsNull():
		return api.BadRequest("%s: the patch has list directives for it, but it is not a list", at)
	}
	return nil
}

// changes is an object of a patch, with its directives taken apart.
type changes struct {
	members
	directive word
	retain    map[string]bool // nil without $retainKeys
}

func changesOf(v document.Value, at *fieldPath) (*changes, error) {
	p := &changes{members: newMembers(v.Len())}
	for name, value := range v.Members() {
		if !strings.HasPrefix(name, "$") {
			p.add(name).value = value
			continue
		}
		directive, field, slash := strings.Cut(name, "/")
		switch {
		case name == patchDirective:
			p.directive, _ = directiveOf(v)
		case name == retainDirective:
			if err := p.readRetain(value, at); err != nil {
				return nil, err
			}
		case directive != orderPrefix && directive != deletePrefix:
			p.add(name).value = value
		case !slash || field == "":
			return nil, api.BadRequest("%s: directive %s must name a list, as in %s/finalizers", at, directive, directive)
		case directive == orderPrefix:
			p.add(field).order = value
		default:
			p.add(field).remove = value
		}
	}
	return p, p.checkRetain(at)
}

func (p *changes) readRetain(list document.Value, at *fieldPath) error {
	p.retain = make(map[string]bool, list.Len())
	if list.Kind() != document.Array {
		return api.BadRequest("%s: $retainKeys must be a list of field names", at)
	}
	for _, v := range list.Elements() {
		if v.Kind() != document.String {
			return api.BadRequest("%s: $retainKeys must be a list of field names", at)
		}
		p.retain[v.Text()] = true
	}
	return nil
}

// checkRetain refuses a patch that sets members it does not want to retain.
func (p *changes) checkRetain(at *fieldPath) error {
	if p.retain == nil || p.directive == replaceWord || p.directive == deleteWord {
		return nil
	}
	for i := range p.list {
		if c := &p.list[i]; c.value.Exists() && !c.value.IsNull() && !p.retain[c.name] {
			return api.BadRequest("%s: the patch sets %q, add it to $retainKeys", at, c.name)
		}
	}
	return nil
}
