package apply

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// conflict is a field that another manager owns.
type conflict struct {
	id   identity
	path []Step
}

// conflictError ends an apply that changes fields of other managers.
type conflictError struct{ conflicts []conflict }

func (e *conflictError) Error() string { return "the applied configuration conflicts" }

// conflicts finds the changed fields that managers other than me own, ordered by manager
// and then by path.
func (k *Kind) conflicts(managers ledger, me *entry, live, obj document.Value, d difference, w Write) ([]conflict, error) {
	diffs := map[string]*difference{k.APIVersion: &d}
	var found [][]conflict // by manager
	for _, e := range managers {
		if e == me {
			continue
		}
		diff, err := k.diffIn(diffs, e.version, live, obj, w)
		if err != nil {
			return nil, err
		}
		if diff == nil {
			continue
		}
		changed := diff.changed()
		if !e.known && !touches(e.fields(), changed) {
			continue
		}
		var own []conflict
		e.owned().Intersection(changed).Each(func(path []Step) {
			own = append(own, conflict{e.id, slices.Clone(path)})
		})
		if own != nil {
			found = append(found, own)
		}
	}
	slices.SortStableFunc(found, func(a, b []conflict) int { return strings.Compare(a[0].id.String(), b[0].id.String()) })
	return slices.Concat(found...), nil
}

// maxTold is the number of conflicts that an answer names; of the others it has the
// number.
const maxTold = 256

// conflictsError is the 409 of an apply.
func conflictsError(conflicts []conflict) *api.Error {
	e := &api.Error{Code: http.StatusConflict, Reason: api.ReasonConflict, HasDetails: true}
	all := len(conflicts)
	conflicts = conflicts[:min(all, maxTold)]
	for _, c := range conflicts {
		e.Causes = append(e.Causes, api.Cause{Reason: api.CauseConflict, Message: "conflict with " + c.id.shown(), Field: pathText(c.path)})
	}
	if len(conflicts) == 1 {
		e.Message = fmt.Sprintf("Apply failed with 1 conflict: conflict with %s: %s", conflicts[0].id.shown(), pathText(conflicts[0].path))
		return e
	}
	var lines []string
	for i, c := range conflicts {
		if i == 0 || c.id != conflicts[i-1].id {
			lines = append(lines, "conflicts with "+c.id.shown()+":")
		}
		lines = append(lines, "- "+pathText(c.path))
	}
	if all > maxTold {
		lines = append(lines, fmt.Sprintf("and %d more", all-maxTold))
	}
	e.Message = fmt.Sprintf("Apply failed with %d conflicts: %s", all, strings.Join(lines, "\n"))
	return e
}

// problem is a part of an applied configuration that cannot be owned.
type problem struct{ path, message string }

// checkApplied refuses elements with the same keys, and elements that cannot
// have keys. Values of custom resources may be of any kind until here: it refuses those that
// are not of the kind that their owners' paths suppose.
func (k *Kind) checkApplied(applied document.Value) error {
	var found []problem
	k.grammar().check(k.Type, applied, nil, &found)
	if len(found) == 0 {
		return nil
	}
	meta := applied.Get("metadata")
	e := &api.Error{Code: http.StatusUnprocessableEntity, Reason: api.ReasonInvalid, HasDetails: true,
		Name: meta.Get("name").Text(), Group: api.GroupOf(k.APIVersion), Kind: k.Name}
	var lines []string
	for _, p := range found {
		reason := schema.CauseInvalid
		switch {
		case strings.HasPrefix(p.message, "duplicate"):
			reason = schema.CauseDuplicate
		case strings.HasPrefix(p.message, "expected"):
			reason = schema.CauseTypeInvalid
		}
		e.Causes = append(e.Causes, api.Cause{Reason: reason, Message: p.message, Field: strings.TrimPrefix(p.path, ".")})
		lines = append(lines, p.path+": "+p.message)
	}
	text := lines[0]
	if len(lines) > 1 {
		text = "errors:\n  " + strings.Join(lines, "\n  ")
	}
	e.Message = fmt.Sprintf("failed to create typed patch object (%s/%s; %s): %s", meta.Get("namespace").Text(), e.Name, k.gvk(), text)
	return e
}

// maxProblems bounds the problems reported for one configuration.
const maxProblems = 100

// fieldPath is the path of a value, for messages.
type fieldPath struct {
	above *fieldPath
	name  string // of a member
	step  Step   // of an element, if name is empty
	index int    // of an element of an atomic list, if step is zero too
}

func (p *fieldPath) String() string {
	if p == nil {
		return ""
	}
	switch {
	case p.name != "":
		return p.above.String() + "." + p.name
	case p.step != Step{}:
		return p.above.String() + p.step.String()
	}
	return p.above.String() + "[" + itoa(p.index) + "]"
}

// fits reports whether a JSON value is of the kind by which a type's values are owned.
func fits(kind schema.Kind, value document.Kind) bool {
	switch kind {
	case schema.Object, schema.Map:
		return value == document.Object
	case schema.List:
		return value == document.Array
	case schema.String:
		return value == document.String
	case schema.Boolean:
		return value == document.Bool
	case schema.Integer, schema.Number:
		return value == document.Number
	}
	return true
}

// expected names the values of a kind.
func expected(kind schema.Kind) string {
	switch kind {
	case schema.Object, schema.Map:
		return "map"
	case schema.List:
		return "list"
	case schema.String:
		return "string"
	case schema.Boolean:
		return "boolean"
	}
	return "number"
}

func (g grammar) check(typ schema.Ref, v document.Value, at *fieldPath, found *[]problem) {
	t := g.typeOf(typ)
	if t == nil || len(*found) >= maxProblems {
		return
	}
	switch {
	case t.Values != nil && !v.IsNull() && !fits(t.Kind, v.Kind()):
		*found = append(*found, problem{at.String(), "expected " + expected(t.Kind) + ", got " + v.Kind().String()})
	case v.Kind() == document.Object:
		for name, m := range v.MembersOf(t) {
			if m.IsEmpty() && t.Values == nil {
				continue
			}
			if below, _, ok := g.member(typ, name); ok {
				g.check(below, m, &fieldPath{above: at, name: name}, found)
			}
		}
	case v.Kind() == document.Array && g.shapeOf(typ, v) == atomic:
		for i, m := range v.Elements() {
			g.check(t.Elem, m, &fieldPath{above: at, index: i}, found)
		}
	case v.Kind() == document.Array && g.shapeOf(typ, v) == keyed:
		for i, m := range v.Elements() {
			wrong := m.IsNull() || (m.Kind() == document.Object) != (t.ListType == schema.ListMap) || m.Kind() == document.Array
			if !wrong {
				continue
			}
			message := "associative list without keys has an element that is no scalar"
			if t.ListType == schema.ListMap {
				message = "associative list with keys may not have an element that is no object"
			}
			*found = append(*found, problem{at.String(), "element " + itoa(i) + ": " + message})
			return
		}
		items := g.items(typ, v)
		by := indexItems(items)
		var space [few]int
		for i, it := range items {
			if it.keyless {
				*found = append(*found, problem{at.String(), "element " + itoa(i) + ": associative list with keys has an element that omits a key field (" +
					strings.Join(t.ListKeys, ", ") + ")"})
				continue
			}
			if by.all(it.step, space[:0])[0] != i {
				*found = append(*found, problem{at.String(), "duplicate entries for key " + it.step.String()})
			}
			if !it.value.IsEmpty() || t.Values != nil {
				g.check(t.Elem, it.value, &fieldPath{above: at, step: it.step}, found)
			}
		}
	}
}
