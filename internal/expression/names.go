package expression

import (
	"slices"
	"strings"
)

// reserved are the words that the grammar does not allow as names.
var reserved = []string{"as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop", "namespace",
	"null", "package", "return", "true", "var", "void", "while"}

// escapes are the parts of names that identifiers cannot have, with their replacements.
var escapes = [...]struct{ part, as string }{{"__", "__underscores__"}, {".", "__dot__"}, {"-", "__dash__"}, {"/", "__slash__"}}

// Escape is the name of a member as expressions write it; false for one that they cannot
// name.
func Escape(name string) (string, bool) {
	if slices.Contains(reserved, name) {
		return "__" + name + "__", true
	}
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return "", false
	}
	var b strings.Builder
next:
	for i := 0; i < len(name); {
		for _, e := range escapes {
			if strings.HasPrefix(name[i:], e.part) {
				b.WriteString(e.as)
				i += len(e.part)
				continue next
			}
		}
		c := name[i]
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return "", false
		}
		b.WriteByte(c)
		i++
	}
	return b.String(), true
}

// Reserved reports whether the grammar does not allow a name.
func Reserved(name string) bool { return slices.Contains(reserved, name) }

// Unescape is the name of a member that expressions write so.
func Unescape(name string) string {
	if word := strings.TrimSuffix(strings.TrimPrefix(name, "__"), "__"); len(word)+4 == len(name) && slices.Contains(reserved, word) {
		return word
	}
	if !strings.Contains(name, "__") {
		return name
	}
	for _, e := range escapes[1:] {
		name = strings.ReplaceAll(name, e.as, e.part)
	}
	return strings.ReplaceAll(name, escapes[0].as, escapes[0].part)
}
