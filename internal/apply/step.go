package apply

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// StepKind is the way in which a Step selects a part of a value.
type StepKind byte

// The kinds of steps, as they are written before the colon.
const (
	StepField StepKind = 'f' // a member of an object
	StepKey   StepKind = 'k' // an element of a list of type map, by its keys
	StepValue StepKind = 'v' // an element of a list of type set
	StepIndex StepKind = 'i' // an element by its position
)

// Step is one step of a path: `f:name`, `k:{"name":"x"}`, `v:"x"`, `i:0`.
//
// Invariant: Text is the part after the colon in canonical form: keys ordered by name,
// JSON without white space, strings with the escapes that Kubernetes writes. Steps are
// the same if and only if they are equal as Go values.
type Step struct {
	Kind StepKind
	Text string
}

// String is the step in messages: `.name`, `[name="x"]`, `[="x"]`, `[0]`.
func (s Step) String() string {
	switch s.Kind {
	case StepField:
		return "." + s.Text
	case StepKey:
		var b strings.Builder
		b.WriteByte('[')
		for i, pair := range keyPairs(s.Text) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(pair.name + "=" + shownScalar(pair.value))
		}
		b.WriteByte(']')
		return b.String()
	case StepValue:
		return "[=" + shownScalar(s.Text) + "]"
	}
	return "[" + s.Text + "]"
}

// shownScalar spells a JSON scalar as Go's %q and %v do.
func shownScalar(text string) string {
	if strings.HasPrefix(text, `"`) {
		return strconv.Quote(document.Unquote([]byte(text)))
	}
	return text
}

// parseStep reads a member's name in a fieldsV1 object. ok is false for unknown kinds of
// steps, which readers skip; bad for wrong text.
func parseStep(name string) (s Step, ok, bad bool) {
	if len(name) < 2 || name[1] != ':' {
		return Step{}, false, true
	}
	s = Step{StepKind(name[0]), name[2:]}
	switch s.Kind {
	case StepField:
		return s, true, false
	case StepIndex:
		n, err := strconv.Atoi(s.Text)
		s.Text = strconv.Itoa(n)
		return s, err == nil, err != nil
	case StepKey, StepValue:
		doc, err := document.DecodeAny([]byte(s.Text), document.Limits{})
		if err != nil {
			return Step{}, false, true
		}
		defer doc.Release()
		text := make([]byte, 0, len(s.Text))
		if s.Kind == StepValue {
			text = appendStepValue(text, doc.Root())
		} else {
			if doc.Root().Kind() != document.Object {
				return Step{}, false, true
			}
			text = appendStepObject(text, doc.Root())
		}
		if string(text) != s.Text {
			s.Text = string(text)
		}
		return s, true, false
	}
	return Step{}, false, false
}

// appendStepObject writes an object with its members ordered by name.
func appendStepObject(dst []byte, v document.Value) []byte {
	var names []string
	for name := range v.Members() {
		names = append(names, name)
	}
	return appendStepKeys(dst, sortedNames(names), v.Get)
}

// appendStepKeys writes the ordered keys that are present.
func appendStepKeys(dst []byte, names []string, get func(string) document.Value) []byte {
	dst = append(dst, '{')
	first := true
	for _, name := range names {
		v := get(name)
		if !v.Exists() {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendStepString(dst, []byte(name)), ':')
		dst = appendStepValue(dst, v)
	}
	return append(dst, '}')
}

// appendStepValue writes a value in the spelling of steps.
func appendStepValue(dst []byte, v document.Value) []byte {
	switch v.Kind() {
	case document.String:
		var space [64]byte
		return appendStepString(dst, v.AppendText(space[:0]))
	case document.Number:
		if n, ok := v.Int(); ok {
			return strconv.AppendInt(dst, n, 10)
		}
		if f, ok := v.Float(); ok {
			if text, err := json.Marshal(f); err == nil {
				return append(dst, text...)
			}
		}
	case document.Object:
		return appendStepObject(dst, v)
	}
	return v.AppendJSON(dst)
}

// appendName writes the step as a member's name, with quotes.
func (s Step) appendName(dst []byte) []byte {
	dst = append(dst, '"', byte(s.Kind), ':')
	return append(document.AppendEscaped(dst, s.Text), '"')
}
