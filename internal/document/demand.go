package document

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// broken finds the rules across members that an object breaks; old is its value before an
// update. It allocates only for mistakes.
func broken(v, old Value, demands []schema.Demand) (causes []schema.Cause) {
	for i := range demands {
		d := &demands[i]
		if d.Each == nil {
			causes = breaks(causes, v, old, d)
			continue
		}
		for _, element := range v.At(d.Each...).Elements() {
			causes = breaks(causes, element, Value{}, d)
		}
	}
	return causes
}

// breaks adds the causes of one rule that an object breaks.
func breaks(causes []schema.Cause, v, old Value, d *schema.Demand) []schema.Cause {
	if !allHold(v, old, d.If) || !allHold(old, old, d.Was) || len(causes) >= MaxCauses {
		return causes
	}
	for i := range d.Then {
		t := &d.Then[i]
		switch {
		case holds(v, old, t):
			continue
		case t.Is == schema.Formed && d.Why == "":
			causes = malformed(causes, v, d, t)
		default:
			causes = append(causes, cause(v, d, t, d.Why))
		}
		if d.At != "" {
			break // other failures would give the same words
		}
	}
	return causes
}

// malformed adds the causes of a named check for a member, or for the elements of a list.
// Reported elsewhere, they are one cause.
func malformed(causes []schema.Cause, of Value, d *schema.Demand, t *schema.Test) []schema.Cause {
	v := of.At(t.Path...)
	for _, e := range v.Elements() {
		for _, problem := range CheckFormat(t.Values[0], plain(e)) {
			causes = append(causes, schema.Cause{Reason: d.Reason(t), Field: e.Path(), Message: "Invalid value: " + Shown(e) + ": " + problem})
		}
	}
	if v.Kind() == Array {
		return causes
	}
	problems := CheckFormat(t.Values[0], plain(v))
	if d.At != "" {
		problems = []string{strings.Join(problems, "; ")}
	}
	for _, problem := range problems {
		causes = append(causes, cause(of, d, t, problem))
	}
	return causes
}

func allHold(v, old Value, tests []schema.Test) bool {
	for i := range tests {
		if !holds(v, old, &tests[i]) {
			return false
		}
	}
	return true
}

// holds reports whether a member meets a test.
func holds(of, old Value, t *schema.Test) bool {
	v := of.At(t.Path...)
	switch t.Is {
	case schema.Set:
		return v.Exists() && !v.IsNull()
	case schema.Unset:
		return !v.Exists() || v.IsNull()
	case schema.Filled:
		return !v.IsNothing()
	case schema.Empty:
		return v.IsNothing()
	case schema.In:
		return isOne(v, t.Values)
	case schema.NotIn:
		return !isOne(v, t.Values)
	case schema.Text:
		return v.Kind() == String
	case schema.Digits:
		return v.Kind() == Number
	case schema.Formed:
		for _, e := range v.Elements() {
			if len(CheckFormat(t.Values[0], plain(e))) > 0 {
				return false
			}
		}
		return v.Kind() == Array || len(CheckFormat(t.Values[0], plain(v))) == 0
	case schema.Single:
		return v.Index(0).Exists() && !v.Index(1).Exists()
	case schema.AtLeast:
		return !less(v, of.At(t.Than...))
	case schema.Same:
		was := old.At(t.Path...)
		return v.IsNothing() && was.IsNothing() || Equal(v, was)
	}
	return true
}

// isOne reports whether a text, a number or a boolean is one of some texts; "" means any
// empty value.
func isOne(v Value, texts []string) bool {
	if v.IsNothing() {
		return slices.Contains(texts, "")
	}
	switch nd := v.node(); nd.kind {
	case String:
		return equalsAny(v, texts)
	case Bool, Number:
		for _, text := range texts {
			if string(v.d.text(nd.off, nd.size)) == text {
				return true
			}
		}
	}
	return false
}

// plain is a text, or the JSON of another value, "" for an absent one.
func plain(v Value) string {
	if v.Kind() == Number {
		return Shown(v)
	}
	return v.Text()
}

// less reports whether both are numbers and the first is less.
func less(a, b Value) bool {
	x, ok := a.Int()
	y, ok2 := b.Int()
	return ok && ok2 && x < y
}

// cause is the cause of a broken rule, for the test that fails, with the reason why.
func cause(of Value, d *schema.Demand, t *schema.Test, why string) schema.Cause {
	at := t.Path
	if d.At != "" {
		at = steps(d.At)
	}
	c := schema.Cause{Reason: d.Reason(t), Field: of.pathTo(at)}
	value := d.Shown
	if d.Shows != nil {
		at = d.Shows
	}
	if v := of.At(at...); value != "" {
	} else if value = Shown(v); !v.Exists() && len(t.Values) > 0 {
		value = `""`
	}
	switch c.Reason {
	case schema.CauseRequired:
		c.Message = "Required value"
	case schema.CauseForbidden:
		c.Message = "Forbidden"
	case schema.CauseNotSupported:
		c.Message, why = "Unsupported value: "+value, "supported values: "+quoted(t.Values)
	default:
		c.Message = "Invalid value: " + value
	}
	if why != "" {
		c.Message += ": " + why
	}
	if d.Hides != "" {
		c.Hides = of.pathTo(steps(d.Hides))
	}
	return c
}

// steps are the names of a path; "." has none.
func steps(path string) []string {
	if path == "." {
		return nil
	}
	return strings.Split(path, ".")
}

// pathTo is the path of a member, present or not, as in causes.
func (v Value) pathTo(names []string) string {
	path := v.d.appendPath(nil, v.n, true)
	table, ref := v.Type()
	for _, name := range names {
		var field *schema.Field
		if table != nil && ref >= 0 {
			typ := &table.Types[ref]
			ref = typ.Elem
			if i := typ.Field(name); i >= 0 {
				field, ref = &typ.Fields[i], typ.Fields[i].Type
			} else if typ.Kind == schema.Map {
				path = append(append(append(path, '['), name...), ']')
				continue
			}
		}
		if field != nil {
			path = appendField(path, field)
		} else {
			path = appendStep(path, name)
		}
	}
	return string(path)
}
