package definitions

import (
	"errors"
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// memberPath is the path of causes for a path of a rule, like ".labels['app']", whose
// members a schema has to have, and the schema there.
func memberPath(path string, s document.Value) (string, document.Value, error) {
	var at strings.Builder
	for rest := path; rest != ""; {
		var name string
		var err error
		if name, rest, err = cutMember(rest); err != nil {
			return "", s, err
		}
		properties, additional := s.Get("properties"), s.Get("additionalProperties")
		switch property := properties.Get(name); {
		case property.Exists():
			s = property
			if at.Len() > 0 {
				at.WriteByte('.')
			}
			at.WriteString(name)
		case properties.Len() == 0 && additional.Kind() == document.Object:
			s = additional
			at.WriteString("[" + name + "]")
		default:
			return "", s, errors.New("does not refer to a valid field")
		}
	}
	return at.String(), s, nil
}

// cutMember cuts the first member off a path: ".name" or "['name']".
func cutMember(path string) (name, rest string, err error) {
	if after, ok := strings.CutPrefix(path, "."); ok {
		end := strings.IndexAny(after, ".[]")
		if end < 0 {
			end = len(after)
		}
		if end == 0 {
			return "", "", errors.New("unexpected end of JSON path")
		}
		return after[:end], after[end:], nil
	}
	quoted, ok := strings.CutPrefix(path, "['")
	if !ok {
		return "", "", fmt.Errorf("expected [ or . but got: %s", path)
	}
	var b strings.Builder
	for i := 0; i < len(quoted); i++ {
		switch c := quoted[i]; {
		case c == '\'':
			if rest, ok := strings.CutPrefix(quoted[i+1:], "]"); ok {
				return b.String(), rest, nil
			}
			return "", "", fmt.Errorf("expected ] after the name %q", b.String())
		case c == '\\' && i+1 < len(quoted):
			i++
			at := strings.IndexByte(`abfnrtv'\`, quoted[i])
			if at < 0 {
				return "", "", fmt.Errorf("invalid escape %q", quoted[i-1:i+1])
			}
			b.WriteByte("\a\b\f\n\r\t\v'\\"[at])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", fmt.Errorf("the name %q has no end", b.String())
}
