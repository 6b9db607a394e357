package document

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// custom checks an object of a custom resource: by its schema, then the whole objects
// in it, then its sets and keyed lists.
func (c *checker) custom(n int32, t *schema.Type, old Value) {
	w := values{d: c.d, table: c.table, update: c.update}
	found := w.accept(n, old, w.check(n, t, t.Values, old))
	c.causes = append(c.causes, found.causes...)
	c.within(n, t, old)
}

// within checks the whole objects in a custom object, then its sets and keyed lists.
func (c *checker) within(n int32, t *schema.Type, old Value) {
	if c.table.Wholes {
		c.inside(n, t, c.wholeObject)
	}
	if c.table.Keyed && !c.repeatedBefore(old) {
		c.inside(n, t, c.distinct)
	}
}

// ValidateWithin returns the mistakes of a custom object that is of another kind than its
// schema: those of the whole objects in it, and elements that its sets and keyed lists
// repeat. old is the object that an update replaces, or absent.
func ValidateWithin(obj, old Value) []schema.Cause {
	table, typ := obj.Type()
	if table == nil {
		return nil
	}
	c := checker{d: obj.d, table: table, update: old.Exists()}
	c.within(obj.n, &table.Types[typ], old)
	return c.causes
}

// repeatedBefore reports whether there were repeated elements before an update: then they
// may stay.
func (c *checker) repeatedBefore(old Value) bool {
	table, typ := old.Type()
	if !c.update || table == nil {
		return false
	}
	was := checker{d: old.d, table: table}
	was.inside(old.n, &table.Types[typ], was.distinct)
	return len(was.causes) > 0
}

// inside visits all values below n of the types in the schema.
func (c *checker) inside(n int32, t *schema.Type, visit func(n int32, t *schema.Type)) {
	visit(n, t)
	for m := c.d.children(n); m != 0; m = c.d.nodes[m].next {
		if typ := c.d.nodes[m].typ; typ >= 0 && c.table.Types[typ].Values != nil {
			c.inside(m, &c.table.Types[typ], visit)
		}
	}
}

// wholeObject checks an object that is embedded in another and has its own apiVersion and
// kind.
func (c *checker) wholeObject(n int32, t *schema.Type) {
	v := Value{c.d, n}
	if !t.Values.Embedded || v.Kind() != Object {
		return
	}
	path := c.path(n)
	at := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	invalid := func(name string, value Value, why string) {
		c.add(schema.CauseInvalid, at(name), "Invalid value: "+Shown(value)+": "+why)
	}
	for _, name := range [...]string{"apiVersion", "kind"} {
		switch value := v.Get(name); {
		case !value.Exists():
			c.add(schema.CauseRequired, at(name), "Required value: must not be empty")
		case value.Kind() != String:
			invalid(name, value, "must be a string")
		case value.Equals(""):
			invalid(name, value, "must not be empty")
		case name == "apiVersion":
			if strings.Count(value.Text(), "/") > 1 {
				invalid(name, value, "unexpected GroupVersion string: "+value.Text())
			}
		default:
			if problems := CheckFormat("dns1035-label", strings.ToLower(value.Text())); len(problems) > 0 {
				invalid(name, value, "may have mixed case, but should otherwise match: "+strings.Join(problems, ","))
			}
		}
	}
	meta := v.Get("metadata")
	if name := meta.Get("name"); name.Text() != "" {
		for _, problem := range CheckFormat("path-segment", name.Text()) {
			invalid("metadata.name", name, problem)
		}
	}
	if namespace := meta.Get("namespace"); namespace.Text() != "" {
		for _, problem := range CheckFormat("dns1123-label", namespace.Text()) {
			invalid("metadata.namespace", namespace, problem)
		}
	}
	for key, value := range meta.Get("labels").Members() {
		for _, problem := range CheckFormat("qualified-name", key) {
			c.add(schema.CauseInvalid, at("metadata.labels"), "Invalid value: "+strconv.Quote(key)+": "+problem)
		}
		for _, problem := range CheckFormat("label-value", value.Text()) {
			invalid("metadata.labels", value, problem)
		}
	}
	for key := range meta.Get("annotations").Members() {
		for _, problem := range CheckFormat("qualified-name", strings.ToLower(key)) {
			c.add(schema.CauseInvalid, at("metadata.annotations"), "Invalid value: "+strconv.Quote(key)+": "+problem)
		}
	}
}

// distinct checks that the elements of sets and keyed lists are distinct: of repeated
// ones the second is reported.
func (c *checker) distinct(n int32, t *schema.Type) {
	if t.Kind != schema.List || t.ListType == schema.ListAtomic || c.d.nodes[n].kind != Array {
		return
	}
	seen := map[string]int{}
	var text []byte
	i := -1
	for m := c.d.children(n); m != 0 && len(c.causes) < MaxCauses; m = c.d.nodes[m].next {
		i++
		v := Value{c.d, m}
		if t.ListType == schema.ListMap && v.Kind() != Object && !v.IsNull() {
			c.add(schema.CauseInvalid, c.path(n)+"["+strconv.Itoa(i)+"]", "Invalid value: "+Shown(v)+": must be an object for an array of list-type map")
			return
		}
		if text = appendKeys(text[:0], v, t); seen[string(text)] == 1 {
			c.add(schema.CauseDuplicate, c.path(n)+"["+strconv.Itoa(i)+"]", "Duplicate value: "+cut(string(text)))
		}
		seen[string(text)]++
	}
}

// appendKeys appends the identity of an element: itself, or its keys.
func appendKeys(dst []byte, v Value, t *schema.Type) []byte {
	if t.ListType == schema.ListSet {
		return v.AppendJSON(dst)
	}
	dst = append(dst, '{')
	for i, key := range t.ListKeys {
		if member := v.Get(key); member.Exists() {
			if i > 0 && dst[len(dst)-1] != '{' {
				dst = append(dst, ',')
			}
			dst = append(AppendQuoted(dst, key), ':')
			dst = member.AppendJSON(dst)
		}
	}
	return append(dst, '}')
}
