package document

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Finding is a mistake that the expression of a rule finds.
type Finding struct {
	Why   string // the message
	At    string // path of the cause below the object; "" for that of the rule
	Of    string // path of the value that the cause shows; "" for At
	Shows string // JSON that it shows instead; "" for the value at Of, or that of the rule
	Turn  string // path below the object: the position of the cause; "" for that of the rule
	Cause string // the reason; "" for that of the rule
}

// Broken finds the rules across members that an object breaks; old is its value before an
// update. It allocates only for mistakes.
func (h *Hooks) Broken(v, old Value, demands []schema.Demand) (causes []schema.Cause) {
	for i := range demands {
		if d := &demands[i]; d.Each == nil {
			causes = h.breaks(causes, v, v, old, d)
		} else {
			causes = h.breaksBelow(causes, v, v, d.Each, d)
		}
	}
	return causes
}

// breaksBelow adds the causes of a rule for the elements of the list at a path below v,
// which may go through lists.
func (h *Hooks) breaksBelow(causes []schema.Cause, v, of Value, path []string, d *schema.Demand) []schema.Cause {
	if len(path) == 0 {
		return h.breaks(causes, v, of, Value{}, d)
	}
	for i, name := range path {
		if v = v.Get(name); v.Kind() == Array {
			for _, e := range v.Elements() {
				causes = h.breaksBelow(causes, e, of, path[i+1:], d)
			}
			break
		}
	}
	return causes
}

// found are the causes of the mistakes that the expression of a rule finds.
func (h *Hooks) found(v, of, old Value, d *schema.Demand) (causes []schema.Cause) {
	for _, f := range h.Finds(d, v, of, old) {
		rule := *d
		rule.Cause = cmp.Or(f.Cause, d.Cause, schema.CauseInvalid)
		if rule.Shown = cmp.Or(f.Shows, d.Shown); rule.Shown == "" && f.At != "" && d.Shows == nil {
			rule.Shown = Shown(v.below(cmp.Or(f.Of, f.At)))
		}
		rule.Turn = cmp.Or(f.Turn, d.Turn)
		c := cause(v, &rule, &schema.Test{}, f.Why)
		if f.At != "" {
			c.Field = string(appendBelow(v.d.appendPath(nil, v.n, true), f.At))
		}
		causes = append(causes, c)
	}
	return causes
}

// below finds the value at a path as causes write it.
func (v Value) below(path string) Value {
	for _, step := range schema.Steps(path) {
		if i, err := strconv.Atoi(step); err == nil && v.Kind() == Array {
			v = v.Index(i)
		} else {
			v = v.Get(step)
		}
	}
	return v
}

// appendBelow appends a path to another.
func appendBelow(path []byte, below string) []byte {
	if len(path) > 0 && below[0] != '[' {
		path = append(path, '.')
	}
	return append(path, below...)
}

// breaks adds the causes of one rule that a value breaks: an object, or an element of a list
// in of.
func (h *Hooks) breaks(causes []schema.Cause, v, of, old Value, d *schema.Demand) []schema.Cause {
	if !allHold(v, old, d.If) || !allHold(old, old, d.Was) || len(causes) >= MaxCauses {
		return causes
	}
	if d.Finds != "" && h != nil && h.Finds != nil {
		return append(causes, h.found(v, of, old, d)...)
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
	case schema.AtLeast, schema.AtMost, schema.Above, schema.Below:
		return inBounds(v, of, t)
	case schema.Short:
		return len(v.Text()) <= t.Most
	case schema.Equals:
		return v.Equals(of.At(t.Than...).Text())
	case schema.Only, schema.Contains, schema.Lacks:
		return holdsElements(v, t)
	case schema.Grown:
		n, _ := v.Int()
		was, _ := old.At(t.Path...).Int()
		return v.Kind() == Number && n >= was
	case schema.Same:
		was := old.At(t.Path...)
		return v.IsNothing() && was.IsNothing() || Equal(v, was)
	}
	return true
}

// inBounds reports whether a number meets a test that compares it.
func inBounds(v, of Value, t *schema.Test) bool {
	n, known := v.Int()
	if t.Is == schema.Below {
		return n <= int64(t.Most)
	}
	other, alsoKnown := of.At(t.Than...).Int()
	switch t.Is {
	case schema.AtMost:
		return n <= other
	case schema.Above:
		return n > other
	}
	return !known || !alsoKnown || n >= other
}

// holdsElements reports whether a list meets a test of its elements.
func holdsElements(list Value, t *schema.Test) bool {
	if t.Is == schema.Only {
		for _, e := range list.Elements() {
			if !equalsAny(e, t.Values) {
				return false
			}
		}
		return true
	}
	for _, text := range t.Values {
		if list.HasText(text) != (t.Is == schema.Contains) {
			return false
		}
	}
	return t.Is == schema.Contains || !list.IsNothing()
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

// cause is the cause of a broken rule, for the test that fails, with the reason why.
func cause(of Value, d *schema.Demand, t *schema.Test, why string) schema.Cause {
	at := t.Path
	if d.At != "" {
		at = schema.Steps(d.At)
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
		if c.Message = "Unsupported value: " + value; t.Values != nil {
			why = "supported values: " + quoted(t.Values)
		}
	case schema.CauseDuplicate:
		c.Message = "Duplicate value: " + value
	case schema.CauseInternal:
		c.Message = "Internal error"
	case schema.CauseTooLong:
		c.Message = "Too long"
	default:
		c.Message = "Invalid value: " + value
	}
	if why != "" {
		c.Message += ": " + why
	}
	if d.Turn != "" {
		c.Place = of.pathTo(schema.Steps(d.Turn))
	}
	if d.Hides != "" {
		c.Hides = of.pathTo(schema.Steps(d.Hides))
	}
	return c
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
