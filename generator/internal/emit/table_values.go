package emit

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// constants are the numbers that the rules of a table point at. They are arrays of their
// own, so that the table stays data which the linker lays out.
type constants struct {
	floats []float64
	counts []int64
}

// declarations are the arrays, as Go.
func (c *constants) declarations() string {
	var b strings.Builder
	for _, list := range []struct {
		name   string
		values any
	}{{"floats", c.floats}, {"counts", c.counts}} {
		if v := reflect.ValueOf(list.values); v.Len() > 0 {
			fmt.Fprintf(&b, "\n\nvar %s = [...]%s{%s}", list.name, v.Type().Elem(), strings.Trim(strings.ReplaceAll(fmt.Sprint(list.values), " ", ", "), "[]"))
		}
	}
	return b.String()
}

// literal writes a value of the schema package as Go, without members that are zero.
func (c *constants) literal(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Pointer:
		switch to := v.Interface().(type) {
		case *float64:
			c.floats = append(c.floats, *to)
			return fmt.Sprintf("&floats[%d]", len(c.floats)-1)
		case *int64:
			c.counts = append(c.counts, *to)
			return fmt.Sprintf("&counts[%d]", len(c.counts)-1)
		}
		return "&" + c.literal(v.Elem())
	case reflect.Struct:
		var b bytes.Buffer
		b.WriteString(v.Type().String() + "{")
		l := literal{b: &b}
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				l.add(v.Type().Field(i).Name, c.literal(f), false)
			}
		}
		b.WriteString("}")
		return b.String()
	case reflect.Slice:
		parts := make([]string, v.Len())
		for i := range parts {
			parts[i] = c.literal(v.Index(i))
		}
		return v.Type().String() + "{" + strings.Join(parts, ", ") + "}"
	case reflect.String:
		return fmt.Sprintf("%q", v.String())
	}
	return fmt.Sprint(v.Interface())
}

// furtherLiteral is the literal of the keywords of JSON Schema that restrict a value.
func (c *constants) furtherLiteral(v *schema.Values) string { return c.literal(reflect.ValueOf(v)) }
