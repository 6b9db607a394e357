package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// values checks the requirements of custom resources' schemas, in the words and the order
// of 1.25, and with standard those of documents, exactly as JSON Schema has them.
type values struct {
	d        *Document
	table    *schema.Table
	standard bool
	quiet    bool // only whether there is a mistake counts: no causes are made
	// update accepts mistakes in values that are the same as before an update. A value
	// has an earlier one (old, else absent) if it is a member, or the element of a keyed
	// list with the same keys.
	update bool
}

// verdict is the result of checking a value.
type verdict struct {
	wrong   bool
	causes  []schema.Cause
	matched int // passed checks; of failing alternatives the one with the most is reported
}

func (r *verdict) merge(o verdict) {
	r.matched += o.matched
	r.wrong = r.wrong || o.wrong
	for _, c := range o.causes {
		r.tell(c)
	}
}

// tell adds a cause once.
func (r *verdict) tell(c schema.Cause) {
	if len(r.causes) < MaxCauses && !slices.Contains(r.causes, c) {
		r.causes = append(r.causes, c)
	}
}

// path names a value as in messages.
func (w *values) path(n int32) string { return string(w.d.appendPath(nil, n, w.standard)) }

// fail notes a mistake in a value. say gives the message for the path of the value.
func (w *values) fail(r *verdict, n int32, reason string, say func(path string) string) {
	if r.wrong = true; w.quiet {
		return
	}
	path := w.path(n)
	field := path
	if field == "" && !w.standard {
		field = noPath
	}
	r.tell(schema.Cause{Reason: reason, Field: field, Message: say(path)})
}

// noPath is the field of causes without a field.
const noPath = "<nil>"

// invalid notes that a value, which is shown, breaks a rule.
func (w *values) invalid(r *verdict, n int32, shown, rule string) {
	w.fail(r, n, schema.CauseInvalid, func(path string) string {
		if w.standard {
			return "Invalid value: " + shown + ": " + rule
		}
		return "Invalid value: " + shown + ": " + path + " in body " + rule
	})
}

// alternatives notes that the rules that combine schemas are broken.
func (w *values) alternatives(r *verdict, n int32, rule string) {
	if r.wrong = true; w.quiet {
	} else if w.standard {
		w.invalid(r, n, Shown(Value{w.d, n}), rule)
	} else {
		r.tell(schema.Cause{Reason: schema.CauseInvalid, Field: noPath, Message: `Invalid value: "": ` + strconv.Quote(w.path(n)) + " " + rule})
	}
}

// typed checks a value of a type.
func (w *values) typed(n int32, typ schema.Ref, old Value) verdict {
	t := &w.table.Types[typ]
	return w.accept(n, old, w.check(n, t, t.Values, old))
}

// accept drops the mistakes of a value that an update does not touch.
func (w *values) accept(n int32, old Value, r verdict) verdict {
	if r.wrong && w.update && old.Exists() && Equal(Value{w.d, n}, old) {
		return verdict{matched: r.matched}
	}
	return r
}

// check checks a value by a schema: that of a type, or one that restricts it further,
// which has no type.
func (w *values) check(n int32, t *schema.Type, v *schema.Values, old Value) (r verdict) {
	if v == nil {
		return r
	}
	if w.standard {
		return w.checkStandard(n, v)
	}
	kind := w.d.nodes[n].kind
	if kind == Null {
		if r.matched = 1; v.Types != 0 && !v.Nullable {
			r.matched = 0
			w.wrongType(&r, n, v.Types.String(), "null")
		}
		w.enum(&r, n, v)
		return r
	}
	if v.Types != 0 || v.Format != "" {
		w.types(&r, n, v)
		r.matched++
	}
	if len(v.AnyOf)+len(v.OneOf)+len(v.AllOf) > 0 || v.Not != nil {
		w.combined(&r, n, v)
	}
	r.matched += 2 // the rules that combine schemas have been checked
	switch kind {
	case String:
		w.text(&r, n, v)
	case Number:
		w.number(&r, n, v)
	case Array:
		w.list(&r, n, t, v, old)
	}
	w.enum(&r, n, v)
	r.matched++
	if kind == Object {
		w.object(&r, n, t, v, old)
		r.matched++
	}
	r.matched++
	return r
}

func (w *values) wrongType(r *verdict, n int32, want, got string) {
	w.fail(r, n, schema.CauseTypeInvalid, func(path string) string {
		return "Invalid value: " + strconv.Quote(got) + ": " + path + " in body must be of type " + want + ": " + strconv.Quote(got)
	})
}

// jsonType is the type of a value: for a number the more specific one.
func (w *values) jsonType(n int32) schema.JSONTypes {
	switch v := (Value{w.d, n}); v.Kind() {
	case Bool:
		return schema.TypeBoolean
	case Number:
		if _, whole := v.Int(); whole {
			return schema.TypeInteger
		}
		return schema.TypeNumber
	case String:
		return schema.TypeString
	case Array:
		return schema.TypeArray
	}
	return schema.TypeObject
}

// types checks the type of a value. A format implies the type of texts and lists, as in
// 1.25.
func (w *values) types(r *verdict, n int32, v *schema.Values) {
	is := w.jsonType(n)
	ok := v.Types&is != 0 || is == schema.TypeInteger && v.Types&schema.TypeNumber != 0
	if is == schema.TypeNumber && v.Types&schema.TypeInteger != 0 {
		f, _ := Value{w.d, n}.Float()
		ok = ok || wholeNumber(f)
	}
	if v.Format != "" {
		if is != schema.TypeString && is != schema.TypeArray {
			if !ok {
				format := map[schema.JSONTypes]string{schema.TypeInteger: "int64", schema.TypeNumber: "float64"}[is]
				w.wrongType(r, n, v.Format, format)
				return
			}
		} else if v.Types&(schema.TypeInteger|schema.TypeNumber) == 0 {
			ok = true
		}
	}
	if !ok {
		w.wrongType(r, n, v.Types.String(), is.String())
		return
	}
	r.matched++
}

// quietly checks a value by a schema, without causes.
func (w *values) quietly(n int32, v *schema.Values) verdict {
	q := values{d: w.d, table: w.table, standard: w.standard, quiet: true}
	return q.check(n, nil, v, Value{})
}

// combined checks the schemas that are combined with others.
func (w *values) combined(r *verdict, n int32, v *schema.Values) {
	if len(v.AnyOf) > 0 {
		w.anyOf(r, n, v.AnyOf)
	}
	if len(v.OneOf) > 0 {
		w.oneOf(r, n, v.OneOf)
	}
	fine := 0
	for _, one := range v.AllOf {
		found := w.check(n, nil, one, Value{})
		if !found.wrong {
			fine++
		}
		r.merge(found)
	}
	switch {
	case fine == len(v.AllOf):
	case fine == 0:
		w.alternatives(r, n, "must validate all the schemas (allOf). None validated")
	default:
		w.alternatives(r, n, "must validate all the schemas (allOf)")
	}
	if v.Not != nil && !w.quietly(n, v.Not).wrong {
		w.alternatives(r, n, "must not validate the schema (not)")
	}
}

// alternative is the result of one of several schemas for a value.
type alternative struct {
	*schema.Values
	verdict
}

// try checks a value by schemas, without causes: the number of those that pass, the first
// of them, and the failing one that passes most checks.
func (w *values) try(n int32, all []*schema.Values, until int) (fine int, first, closest alternative) {
	for i, one := range all {
		found := alternative{one, w.quietly(n, one)}
		if i == 0 || found.matched > closest.matched {
			closest = found
		}
		if found.wrong {
			continue
		}
		if fine++; fine == 1 {
			first = found
		}
		if fine == until {
			break
		}
	}
	return fine, first, closest
}

func (w *values) anyOf(r *verdict, n int32, all []*schema.Values) {
	fine, first, closest := w.try(n, all, 1)
	if fine > 0 {
		r.merge(first.verdict)
		return
	}
	w.alternatives(r, n, "must validate at least one schema (anyOf)")
	w.addClosest(r, n, closest)
}

func (w *values) oneOf(r *verdict, n int32, all []*schema.Values) {
	switch fine, first, closest := w.try(n, all, -1); fine {
	case 1:
		r.merge(first.verdict)
	case 0:
		w.alternatives(r, n, "must validate one and only one schema (oneOf). Found none valid")
		w.addClosest(r, n, closest)
	default:
		w.alternatives(r, n, "must validate one and only one schema (oneOf). Found "+strconv.Itoa(fine)+" valid alternatives")
	}
}

// addClosest adds the causes of the closest schema.
func (w *values) addClosest(r *verdict, n int32, closest alternative) {
	if w.quiet {
		r.merge(closest.verdict)
	} else {
		r.merge(w.check(n, nil, closest.Values, Value{}))
	}
}

func (w *values) list(r *verdict, n int32, t *schema.Type, v *schema.Values, old Value) {
	size := int64(0)
	var was []Value // of keyed lists
	if w.update && t != nil && t.Kind == schema.List && t.ListType == schema.ListMap && old.Kind() == Array {
		was, _ = before(Value{w.d, n}, old, t)
	}
	for m := w.d.children(n); m != 0; m = w.d.nodes[m].next {
		if size++; t != nil && t.Kind == schema.List && t.Elem >= 0 {
			var e Value
			if was != nil {
				e = was[size-1]
			}
			r.merge(w.typed(m, t.Elem, e))
		}
		if v.Items != nil {
			r.merge(w.check(m, nil, v.Items, Value{}))
		}
	}
	if v.MinItems != nil && size < *v.MinItems {
		w.invalid(r, n, strconv.FormatInt(size, 10), "should have at least "+strconv.FormatInt(*v.MinItems, 10)+" items")
	}
	if v.MaxItems != nil && size > *v.MaxItems {
		w.tooMany(r, n, size, *v.MaxItems)
	}
	r.matched += 2
}

func (w *values) tooMany(r *verdict, n int32, size, most int64) {
	w.fail(r, n, schema.CauseTooMany, func(string) string {
		return "Too many: " + strconv.FormatInt(size, 10) + ": must have at most " + strconv.FormatInt(most, 10) + " items"
	})
}

// enum checks that a value is one of the enum.
func (w *values) enum(r *verdict, n int32, v *schema.Values) {
	if len(v.Enum) == 0 {
		return
	}
	if w.standard && slices.ContainsFunc(v.Enum, Value{w.d, n}.isConstant) {
		return
	}
	if text := (Value{w.d, n}).AppendJSON(nil); !w.standard && slices.Contains(v.Enum, string(text)) && string(text) != "null" {
		return
	}
	w.fail(r, n, schema.CauseNotSupported, func(string) string {
		shown := make([]string, len(v.Enum))
		for i, one := range v.Enum {
			if shown[i] = one; !w.standard && !strings.HasPrefix(one, `"`) {
				shown[i] = strconv.Quote(one)
			}
		}
		return "Unsupported value: " + Shown(Value{w.d, n}) + ": supported values: " + strings.Join(shown, ", ")
	})
}

func (w *values) object(r *verdict, n int32, t *schema.Type, v *schema.Values, old Value) {
	if v.MinProperties != nil || v.MaxProperties != nil {
		size := int64(Value{w.d, n}.Len())
		if v.MinProperties != nil && size < *v.MinProperties {
			w.invalid(r, n, strconv.FormatInt(size, 10), "should have at least "+strconv.FormatInt(*v.MinProperties, 10)+" properties")
			return
		}
		if v.MaxProperties != nil && size > *v.MaxProperties {
			w.tooMany(r, n, size, *v.MaxProperties)
			return
		}
	}
	if t != nil {
		w.members(r, n, t, old)
	}
	for _, p := range v.Properties {
		if m := w.d.find(n, p.Name); m != 0 {
			var was Value
			if p.Name == "metadata" {
				was = old.Get(p.Name)
			}
			r.merge(w.accept(m, was, w.check(m, nil, p.Values, Value{})))
		}
	}
	for _, name := range v.Required {
		if w.d.find(n, name) == 0 {
			w.required(r, n, name, "")
		}
	}
}

// required notes that an object lacks a member.
func (w *values) required(r *verdict, n int32, name, why string) {
	if r.wrong = true; !w.quiet {
		r.tell(schema.Cause{Reason: schema.CauseRequired, Field: strings.TrimPrefix(w.path(n)+"."+name, "."), Message: "Required value" + why})
	}
}

// members checks the members of an object or map by their types.
func (w *values) members(r *verdict, n int32, t *schema.Type, old Value) {
	own := w.d.nodes[n].typ
	for m := w.d.children(n); m != 0; m = w.d.nodes[m].next {
		var was Value
		if w.update {
			was = old.Get(w.d.name(m))
		}
		switch field := w.d.nodes[m].field; {
		case field != noField && own >= 0 && &w.table.Types[own] == t:
			r.merge(w.typed(m, t.Fields[field].Type, was))
		case t.Kind == schema.Map:
			r.merge(w.typed(m, t.Elem, was))
		case t.Kind == schema.Object: // its node has no type: the value is of another one
			if i := t.Field(w.d.name(m)); i >= 0 {
				r.merge(w.typed(m, t.Fields[i].Type, was))
			}
		}
	}
}
