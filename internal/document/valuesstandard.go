package document

import (
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/schema"
)

// further checks the keywords of JSON Schema that a document restricts a value with.
func (c *checker) further(n int32, v *schema.Values) {
	w := values{d: c.d, table: c.table, standard: true}
	c.causes = append(c.causes, w.check(n, nil, v, Value{}).causes...)
}

// checkStandard is check for documents: every keyword is judged, and means what JSON
// Schema says. Values are in their stored form; a member whose null stands for nothing is
// absent.
func (w *values) checkStandard(n int32, v *schema.Values) (r verdict) {
	kind := w.d.nodes[n].kind
	if v.Types != 0 {
		w.standardType(&r, n, v.Types)
	}
	if len(v.AnyOf)+len(v.OneOf)+len(v.AllOf) > 0 || v.Not != nil {
		w.combined(&r, n, v)
	}
	r.matched += 2
	switch kind {
	case String:
		w.standardText(&r, n, v)
	case Number:
		w.standardNumber(&r, n, v)
	case Array:
		w.list(&r, n, nil, v, Value{})
	case Object:
		w.standardObject(&r, n, v)
	}
	w.enum(&r, n, v)
	if v.Standard != nil {
		w.only(&r, n, v.Standard)
	}
	r.matched++
	return r
}

// standardType checks the type of a value.
func (w *values) standardType(r *verdict, n int32, types schema.JSONTypes) {
	v := Value{w.d, n}
	is := schema.TypeNull
	if v.Kind() != Null {
		is = w.jsonType(n)
	}
	if is == schema.TypeNumber {
		if f, _ := new(big.Rat).SetString(numberText(v)); f != nil && f.IsInt() {
			is = schema.TypeInteger
		}
	}
	if types&is == 0 && (is != schema.TypeInteger || types&schema.TypeNumber == 0) {
		w.fail(r, n, schema.CauseTypeInvalid, func(string) string { return "Invalid value: " + Shown(v) + ": must be of type " + types.String() })
		return
	}
	r.matched++
}

// numberText is the text of a number, short whatever its exponent.
func numberText(v Value) string {
	if n, ok := v.Int(); ok {
		return strconv.FormatInt(n, 10)
	}
	f, _ := v.Float()
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// isConstant reports whether a value equals a scalar in canonical JSON.
func (v Value) isConstant(text string) bool {
	switch v.Kind() {
	case String:
		if text[0] != '"' {
			return false
		}
		inner := text[1 : len(text)-1]
		if strings.Contains(inner, `\`) {
			inner = string(AppendUnescaped(nil, []byte(inner)))
		}
		return v.Equals(inner)
	case Number:
		if whole, ok := v.Int(); ok {
			other, err := strconv.ParseInt(text, 10, 64)
			if err == nil {
				return whole == other
			}
		}
		f, _ := v.Float()
		other, err := strconv.ParseFloat(text, 64)
		return err == nil && f == other
	case Bool:
		return v.Bool() == (text == "true") && (text == "true" || text == "false")
	case Null:
		return text == "null"
	}
	return false
}

// standardText checks a text.
func (w *values) standardText(r *verdict, n int32, v *schema.Values) {
	if v.MinLength == nil && v.MaxLength == nil && v.Pattern == "" && v.Format == "" {
		return
	}
	text := Value{w.d, n}.Text()
	size := int64(utf8.RuneCountInString(text))
	if v.MinLength != nil && size < *v.MinLength {
		w.invalid(r, n, strconv.Quote(text), "must be at least "+strconv.FormatInt(*v.MinLength, 10)+" characters long")
	}
	if v.MaxLength != nil && size > *v.MaxLength {
		w.fail(r, n, schema.CauseTooLong, func(string) string {
			return "Too long: must have at most " + strconv.FormatInt(*v.MaxLength, 10) + " characters"
		})
	}
	if re := pattern(v.Pattern); v.Pattern != "" && re != nil && !re.MatchString(text) {
		w.invalid(r, n, strconv.Quote(text), "must match the pattern "+v.Pattern)
	}
	for _, problem := range CheckFormat(v.Format, text) {
		w.invalid(r, n, strconv.Quote(text), problem)
	}
	r.matched++
}

// standardNumber checks a number, exactly.
func (w *values) standardNumber(r *verdict, n int32, v *schema.Values) {
	if v.MultipleOf == nil && v.Maximum == nil && v.Minimum == nil {
		return
	}
	value := Value{w.d, n}
	is, _ := new(big.Rat).SetString(numberText(value))
	exact := func(f float64) *big.Rat {
		x, _ := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64))
		return x
	}
	invalid := func(rule string, limit float64) {
		w.invalid(r, n, Shown(value), rule+string(appendFloat(nil, limit)))
	}
	if step := v.MultipleOf; step != nil && !new(big.Rat).Quo(is, exact(*step)).IsInt() {
		invalid("must be a multiple of ", *step)
	}
	if least := v.Minimum; least != nil {
		switch order := is.Cmp(exact(*least)); {
		case v.ExclusiveMinimum && order <= 0:
			invalid("must be greater than ", *least)
		case order < 0:
			invalid("must be greater than or equal to ", *least)
		}
	}
	if most := v.Maximum; most != nil {
		switch order := is.Cmp(exact(*most)); {
		case v.ExclusiveMaximum && order >= 0:
			invalid("must be less than ", *most)
		case order > 0:
			invalid("must be less than or equal to ", *most)
		}
	}
	r.matched++
}

// isNone reports whether a member's null stands for nothing.
func (w *values) isNone(m int32) bool {
	nd := &w.d.nodes[m]
	if nd.kind != Null {
		return false
	}
	f := w.d.declared(m)
	return f != nil && !f.Null
}

// member finds a member that stands for something; 0 for none.
func (w *values) member(n int32, name string) int32 {
	if m := w.d.find(n, name); m != 0 && !w.isNone(m) {
		return m
	}
	return 0
}

// standardObject checks an object or a map.
func (w *values) standardObject(r *verdict, n int32, v *schema.Values) {
	if v.MinProperties != nil || v.MaxProperties != nil {
		size := int64(0)
		for m := w.d.children(n); m != 0; m = w.d.nodes[m].next {
			if !w.isNone(m) {
				size++
			}
		}
		if v.MinProperties != nil && size < *v.MinProperties {
			w.invalid(r, n, strconv.FormatInt(size, 10), "must have at least "+strconv.FormatInt(*v.MinProperties, 10)+" properties")
		}
		if v.MaxProperties != nil && size > *v.MaxProperties {
			w.tooMany(r, n, size, *v.MaxProperties)
		}
	}
	for _, name := range v.Required {
		if w.member(n, name) == 0 {
			w.required(r, n, name, "")
		}
	}
	for _, p := range v.Properties {
		if m := w.member(n, p.Name); m != 0 {
			r.merge(w.check(m, nil, p.Values, Value{}))
		}
	}
	if v.Standard != nil {
		w.byName(r, n, v)
	}
	r.matched++
}

// byName checks the names of members, and members by their names.
func (w *values) byName(r *verdict, n int32, v *schema.Values) {
	s := v.Standard
	if s.PropertyNames != nil || s.PatternProperties != nil || s.Additional != nil {
		for m := w.d.children(n); m != 0; m = w.d.nodes[m].next {
			if !w.isNone(m) {
				w.named(r, m, v)
			}
		}
	}
	for _, needs := range s.DependentRequired {
		if w.member(n, needs.Name) == 0 {
			continue
		}
		for _, name := range needs.Members {
			if w.member(n, name) == 0 {
				w.required(r, n, name, ": "+needs.Name+" needs it")
			}
		}
	}
	for _, p := range s.DependentSchemas {
		if w.member(n, p.Name) != 0 {
			r.merge(w.check(n, nil, p.Values, Value{}))
		}
	}
}

// named checks one member by its name.
func (w *values) named(r *verdict, m int32, v *schema.Values) {
	s, name := v.Standard, w.d.name(m)
	if s.PropertyNames != nil {
		if problems := w.nameProblems(name, s.PropertyNames); problems != "" {
			w.invalid(r, m, strconv.Quote(name), problems)
		}
	}
	known := false
	for _, p := range v.Properties {
		known = known || p.Name == name
	}
	for _, p := range s.PatternProperties {
		if re := pattern(p.Name); re != nil && re.MatchString(name) {
			known = true
			r.merge(w.check(m, nil, p.Values, Value{}))
		}
	}
	if !known && s.Additional != nil {
		r.merge(w.check(m, nil, s.Additional, Value{}))
	}
}

// nameProblems describes how a name breaks a schema, "" when it does not.
func (w *values) nameProblems(name string, s *schema.Values) string {
	d, err := DecodeAny(AppendQuoted(nil, name), Limits{})
	if err != nil {
		return "" // longer than any body
	}
	defer d.Release()
	inner := values{d: d, standard: true, quiet: w.quiet}
	found := inner.check(1, nil, s, Value{})
	switch {
	case !found.wrong:
		return ""
	case len(found.causes) == 0:
		return "must be another name"
	}
	text := found.causes[0].Message
	if _, rule, ok := strings.Cut(text, strconv.Quote(name)+": "); ok {
		text = rule
	}
	return text
}

// only checks the keywords that schemas of custom resources lack, for values of all kinds.
func (w *values) only(r *verdict, n int32, s *schema.Standard) {
	if s.Const != "" && !(Value{w.d, n}).isConstant(s.Const) {
		w.fail(r, n, schema.CauseNotSupported, func(string) string {
			return "Unsupported value: " + Shown(Value{w.d, n}) + ": must be " + s.Const
		})
	}
	if s.If != nil {
		if branch := map[bool]*schema.Values{true: s.Else, false: s.Then}[w.quietly(n, s.If).wrong]; branch != nil {
			r.merge(w.check(n, nil, branch, Value{}))
		}
	}
	if s.Contains != nil && w.d.nodes[n].kind == Array {
		w.contains(r, n, s)
	}
}

// contains checks how many elements of a list a schema allows.
func (w *values) contains(r *verdict, n int32, s *schema.Standard) {
	found, least := int64(0), int64(1)
	for m := w.d.children(n); m != 0; m = w.d.nodes[m].next {
		if !w.quietly(m, s.Contains).wrong {
			found++
		}
	}
	if s.MinContains != nil {
		least = *s.MinContains
	}
	if found < least {
		w.invalid(r, n, strconv.FormatInt(found, 10), "must have at least "+strconv.FormatInt(least, 10)+" elements as in contains")
	}
	if s.MaxContains != nil && found > *s.MaxContains {
		w.tooMany(r, n, found, *s.MaxContains)
	}
}
