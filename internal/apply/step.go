package apply

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/document"
)

// StepKind says how a Step selects what is below a value.
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
// Invariant: Text is what follows the colon in canonical form: keys ordered by
// name, JSON without white space, strings with the escapes that Kubernetes
// writes. Steps are the same if and only if they are equal as Go values.
type Step struct {
	Kind StepKind
	Text string
}

// String is the step as messages have it: `.name`, `[name="x"]`, `[="x"]`, `[0]`.
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

// kindRank orders the kinds: fields, keys, values, positions.
func kindRank(k StepKind) int { return strings.IndexByte("fkvi", byte(k)) }

// compareSteps is the order of steps in a set.
func compareSteps(a, b Step) int {
	switch {
	case a.Kind != b.Kind:
		return cmp.Compare(kindRank(a.Kind), kindRank(b.Kind))
	case a.Kind == StepField:
		return strings.Compare(a.Text, b.Text)
	case a.Text == b.Text:
		return 0
	case a.Kind == StepKey:
		return cmp.Or(compareKeys(a.Text, b.Text), strings.Compare(a.Text, b.Text))
	}
	return compareScalars(a.Text, b.Text)
}

type keyPair struct{ name, value string }

// keyPairs takes the text of a StepKey apart.
func keyPairs(text string) []keyPair {
	var pairs []keyPair
	for rest := text; ; {
		var p keyPair
		var ok bool
		if p, rest, ok = nextPair(rest); !ok {
			return pairs
		}
		pairs = append(pairs, p)
	}
}

// nextPair takes the next name and value from the text of a StepKey.
func nextPair(text string) (p keyPair, rest string, ok bool) {
	if len(text) < 2 || text[1] != '"' {
		return keyPair{}, "", false
	}
	end := scalarEnd(text[1:]) + 1
	if end >= len(text) || text[end] != ':' {
		return keyPair{}, "", false
	}
	name, value := text[1:end], text[end+1:]
	end = scalarEnd(value)
	return keyPair{unquoted(name), value[:end]}, value[end:], true
}

// scalarEnd is where a value in a step ends. Steps hold scalars; of anything
// else that a client sent the end may be taken too early, but always the same.
func scalarEnd(text string) int {
	if text == "" || text[0] != '"' {
		if i := strings.IndexAny(text, ",}"); i >= 0 {
			return i
		}
		return len(text)
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// unquoted is what a JSON string says; it does not allocate for one without
// escapes.
func unquoted(text string) string {
	if len(text) >= 2 && strings.IndexByte(text, '\\') < 0 {
		return text[1 : len(text)-1]
	}
	return document.Unquote([]byte(text))
}

// compareKeys compares the texts of two StepKeys pair by pair.
func compareKeys(a, b string) int {
	for {
		x, restA, okA := nextPair(a)
		y, restB, okB := nextPair(b)
		switch {
		case !okA && !okB:
			return 0
		case !okA:
			return -1
		case !okB:
			return 1
		}
		if c := cmp.Or(strings.Compare(x.name, y.name), compareScalars(x.value, y.value)); c != 0 {
			return c
		}
		a, b = restA, restB
	}
}

// compareScalars orders JSON values: numbers, strings, booleans, the rest.
func compareScalars(a, b string) int {
	if x, y := scalarRank(a), scalarRank(b); x != y {
		return cmp.Compare(x, y)
	}
	switch scalarRank(a) {
	case 0:
		x, err1 := strconv.ParseInt(a, 10, 64)
		y, err2 := strconv.ParseInt(b, 10, 64)
		if err1 == nil && err2 == nil {
			return cmp.Compare(x, y)
		}
		f, _ := strconv.ParseFloat(a, 64)
		g, _ := strconv.ParseFloat(b, 64)
		if c := cmp.Compare(f, g); c != 0 {
			return c
		}
	case 1:
		if c := strings.Compare(unquoted(a), unquoted(b)); c != 0 {
			return c
		}
	}
	return strings.Compare(a, b)
}

func scalarRank(text string) int {
	switch {
	case text == "":
		return 6
	case text[0] == '"':
		return 1
	case text[0] == 't' || text[0] == 'f':
		return 2
	case text[0] == '[':
		return 3
	case text[0] == '{':
		return 4
	case text[0] == 'n':
		return 5
	}
	return 0
}

// parseStep reads a member's name in a fieldsV1 object. ok is false for kinds of
// steps that do not exist, which readers skip; bad for text that is wrong.
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
		var text []byte
		if s.Kind == StepValue {
			text = appendStepValue(nil, doc.Root())
		} else {
			if doc.Root().Kind() != document.Object {
				return Step{}, false, true
			}
			text = appendStepObject(nil, doc.Root())
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

// appendStepKeys writes the keys, which are ordered, that exist.
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

// appendStepValue writes a value as a step has it.
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

// appendStepString writes a JSON string with the escapes of the reference, which
// are those of HTML too.
func appendStepString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRune(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				dst = append(dst, `\ufffd`...)
			case r == '\u2028' || r == '\u2029':
				dst = append(dst, '\\', 'u', '2', '0', '2', hex[r&15])
			default:
				dst = append(dst, s[i:i+size]...)
			}
			i += size
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < ' ' || c == '<' || c == '>' || c == '&':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// appendName writes the step as a member's name, with quotes.
func (s Step) appendName(dst []byte) []byte {
	dst = append(dst, '"', byte(s.Kind), ':')
	return append(appendEscaped(dst, s.Text), '"')
}

// appendQuoted writes a string as canonical JSON.
func appendQuoted(dst []byte, s string) []byte {
	return append(appendEscaped(append(dst, '"'), s), '"')
}

// appendEscaped writes the inside of a JSON string with the shortest escapes.
func appendEscaped(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		if j := strings.IndexByte("\"\\\b\f\n\r\t", c); j >= 0 {
			dst = append(dst, '\\', `"\bfnrt`[j])
		} else {
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(dst, s[from:]...)
}
