package codec

import (
	"slices"
	"unicode"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/yaml"
)

// ToYAML turns JSON into YAML, its keys in natural order: a2 before a10. An error means
// that the text is not JSON.
func ToYAML(json []byte) ([]byte, error) {
	doc, err := document.DecodeAny(json, document.Limits{MaxNodes: len(json) + 2})
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	return appendYAML(make([]byte, 0, len(json)+len(json)/8), doc.Root(), 0), nil
}

// appendYAML appends a value and a line break. Further lines begin in the column indent.
func appendYAML(dst []byte, v document.Value, indent int) []byte {
	switch {
	case v.Kind() == document.String:
		return append(yaml.AppendString(dst, v.AppendText(nil), max(indent, 2)), '\n')
	case v.IsEmpty():
		return append(v.AppendJSON(dst), '\n')
	case v.Kind() == document.Array:
		for i, element := range v.Elements() {
			if i > 0 {
				dst = yaml.AppendSpaces(dst, indent)
			}
			dst = appendYAML(append(dst, "- "...), element, indent+2)
		}
		return dst
	}
	for i, m := range sortedMembers(v) {
		if i > 0 {
			dst = yaml.AppendSpaces(dst, indent)
		}
		dst = yaml.AppendKey(dst, m.name, indent)
		switch {
		case m.value.IsEmpty():
			dst = appendYAML(append(dst, ' '), m.value, indent+2)
		case m.value.Kind() == document.Array: // in the column of its key
			dst = appendYAML(yaml.AppendSpaces(append(dst, '\n'), indent), m.value, indent)
		default:
			dst = appendYAML(yaml.AppendSpaces(append(dst, '\n'), indent+2), m.value, indent+2)
		}
	}
	return dst
}

// member is a member of an object.
type member struct {
	name  string
	runes []rune
	value document.Value
}

func sortedMembers(v document.Value) []member {
	list := make([]member, 0, v.Len())
	for name, value := range v.Members() {
		list = append(list, member{name, []rune(name), value})
	}
	slices.SortStableFunc(list, func(a, b member) int { return compareNatural(a.runes, b.runes) })
	return list
}

// compareNatural orders names with the numbers in them as numbers, and letters after
// everything else.
func compareNatural(a, b []rune) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] == b[i] {
			continue
		}
		x, y := unicode.IsLetter(a[i]), unicode.IsLetter(b[i])
		switch {
		case x && y:
			return int(a[i] - b[i])
		case x:
			return 1
		case y:
			return -1
		}
		n, ends := digitsFrom(a, i)
		m, endsToo := digitsFrom(b, i)
		if (a[i] == '0' || b[i] == '0') && insideNumber(a[:i]) {
			n, m = n+pow10(ends-i), m+pow10(endsToo-i)
		}
		switch {
		case n != m:
			return sign(n < m)
		case ends != endsToo:
			return sign(ends < endsToo)
		}
		return sign(a[i] < b[i])
	}
	return len(a) - len(b)
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}

// digitsFrom reads the number at i.
func digitsFrom(a []rune, i int) (n int64, end int) {
	for ; i < len(a) && unicode.IsDigit(a[i]); i++ {
		n = n*10 + int64(a[i]-'0')
	}
	return n, i
}

// insideNumber reports whether a number that is not 0 ends here.
func insideNumber(a []rune) bool {
	for i := len(a) - 1; i >= 0 && unicode.IsDigit(a[i]); i-- {
		if a[i] != '0' {
			return true
		}
	}
	return false
}

func pow10(n int) int64 {
	p := int64(1)
	for ; n > 0; n-- {
		p *= 10
	}
	return p
}
