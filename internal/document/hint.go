package document

import "github.com/capstan-dev/capstan/internal/schema"

// nearby is the number of fields tried before a name is searched: most senders write in
// schema order.
const nearby = 3

// expected returns the index of the field whose quoted name is next in the text, if it is
// one of the next few fields from next on; else -1.
func expected(fields []schema.Field, next int, text []byte) int {
	if len(text) == 0 || text[0] != '"' {
		return -1
	}
	for i := next; i < len(fields) && i < next+nearby; i++ {
		name := fields[i].Name
		if end := len(name) + 1; end < len(text) && text[end] == '"' && string(text[1:end]) == name {
			return i
		}
	}
	return -1
}
