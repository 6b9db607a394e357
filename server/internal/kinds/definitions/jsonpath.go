package definitions

import (
	"errors"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// jsonPath is a path of a column: ".spec.replicas",
// ".status.conditions[?(@.type=="Ready")].status".
type jsonPath struct {
	names []string // of the members that it begins with
	steps []pathStep
}

// pathStep leads from one value to others: give visits them until it returns false.
type pathStep func(v document.Value, give func(document.Value) bool) bool

var errPath = errors.New("the path cannot be read")

// first is the first value at the path, absent when there is none.
func (p jsonPath) first(v document.Value) (found document.Value) {
	for _, name := range p.names {
		v = v.Get(name)
	}
	if len(p.steps) == 0 || !v.Exists() {
		return v
	}
	walk(v, p.steps, func(at document.Value) bool {
		found = at
		return false
	})
	return found
}

// walk visits the values at some steps until give returns false.
func walk(v document.Value, steps []pathStep, give func(document.Value) bool) bool {
	if len(steps) == 0 {
		return give(v)
	}
	return steps[0](v, func(next document.Value) bool { return walk(next, steps[1:], give) })
}

// pathParser reads a path.
type pathParser struct {
	text string
	pos  int
}

// parsePath reads a path that begins at an object.
func parsePath(text string) (jsonPath, error) {
	p := &pathParser{text: text}
	path, err := p.path()
	if err == nil && p.pos < len(text) {
		err = errPath
	}
	return path, err
}

// path reads steps, up to the first character that begins none.
func (p *pathParser) path() (path jsonPath, err error) {
	for p.pos < len(p.text) {
		var step pathStep
		switch p.text[p.pos] {
		case '.':
			var name string
			if step, name = p.dot(); step == nil && name == "" {
				continue // a single dot is the value itself
			}
			if step == nil && len(path.steps) == 0 {
				path.names = append(path.names, name)
				continue
			}
			if step == nil {
				step = member(name)
			}
		case '[':
			step, err = p.bracket()
		default:
			return path, nil
		}
		if err != nil {
			return path, err
		}
		path.steps = append(path.steps, step)
	}
	return path, nil
}

// dot reads ".name", ".*", or "..", which a name follows. A name has no step.
func (p *pathParser) dot() (step pathStep, name string) {
	if p.pos++; strings.HasPrefix(p.text[p.pos:], ".") {
		p.pos++
		if name := p.name(); name != "" {
			return below(member(name)), ""
		}
		return below(func(v document.Value, give func(document.Value) bool) bool { return give(v) }), ""
	}
	if name = p.name(); name == "*" {
		return every, ""
	}
	return nil, name
}

// name reads a name; a backslash escapes the next character.
func (p *pathParser) name() string {
	var name strings.Builder
	for ; p.pos < len(p.text); p.pos++ {
		c := p.text[p.pos]
		if c == '\\' && p.pos+1 < len(p.text) {
			p.pos++
			name.WriteByte(p.text[p.pos])
			continue
		}
		if strings.IndexByte(" .[]{}()=!<>,|&\"'\n\t", c) >= 0 {
			break
		}
		name.WriteByte(c)
	}
	return name.String()
}

// bracket reads "[...]".
func (p *pathParser) bracket() (pathStep, error) {
	p.pos++
	if strings.HasPrefix(p.text[p.pos:], "?(") {
		p.pos += len("?(")
		return p.filter()
	}
	end := p.closing()
	if end < 0 {
		return nil, errPath
	}
	inside := strings.TrimSpace(p.text[p.pos:end])
	p.pos = end + 1
	if inside == "*" {
		return every, nil
	}
	if quoted := unquoted(inside); quoted != "" && !strings.Contains(inside, ",") {
		return member(quoted), nil
	}
	var all []pathStep
	for part := range strings.SplitSeq(inside, ",") {
		part = strings.TrimSpace(part)
		if quoted := unquoted(part); quoted != "" {
			all = append(all, member(quoted))
			continue
		}
		step, err := slice(part)
		if err != nil {
			return nil, err
		}
		all = append(all, step)
	}
	return func(v document.Value, give func(document.Value) bool) bool {
		for _, step := range all {
			if !step(v, give) {
				return false
			}
		}
		return true
	}, nil
}

// closing is the position of the bracket that closes the one before pos; -1 for none.
func (p *pathParser) closing() int {
	quote := byte(0)
	for i := p.pos; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == ']':
			return i
		}
	}
	return -1
}

// unquoted is the text in quotes; "" for text without.
func unquoted(text string) string {
	if n := len(text); n > 2 && (text[0] == '\'' || text[0] == '"') && text[n-1] == text[0] {
		return strings.ReplaceAll(text[1:n-1], `\`, "")
	}
	return ""
}

// slice reads an index or a part of a list: "0", "-1", "1:3", "::2".
func slice(text string) (pathStep, error) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 || text == "" {
		return nil, errPath
	}
	var bound [3]int
	var said [3]bool
	for i, part := range parts {
		if part == "" {
			continue
		}
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, errPath
		}
		bound[i], said[i] = n, true
	}
	if said[2] && bound[2] <= 0 {
		return nil, errPath
	}
	single := len(parts) == 1
	return func(v document.Value, give func(document.Value) bool) bool {
		size := v.Len()
		at := func(i, fallback int) int {
			switch {
			case !said[i]:
				return fallback
			case bound[i] < 0:
				return bound[i] + size
			}
			return bound[i]
		}
		from, to, step := at(0, 0), at(1, size), max(bound[2], 1)
		if single {
			to = from + 1
		}
		if v.Kind() != document.Array || from < 0 {
			return true
		}
		for i := from; i < min(to, size); i += step {
			if !give(v.Index(i)) {
				return false
			}
		}
		return true
	}, nil
}

func member(name string) pathStep {
	return func(v document.Value, give func(document.Value) bool) bool {
		if m := v.Get(name); m.Exists() {
			return give(m)
		}
		return true
	}
}

// every leads to all members or elements.
func every(v document.Value, give func(document.Value) bool) bool {
	for _, e := range v.Elements() {
		if !give(e) {
			return false
		}
	}
	for _, m := range v.Members() {
		if !give(m) {
			return false
		}
	}
	return true
}

// below applies a step to a value and to everything in it.
func below(step pathStep) pathStep {
	var walk pathStep
	walk = func(v document.Value, give func(document.Value) bool) bool {
		return step(v, give) && every(v, func(inner document.Value) bool { return walk(inner, give) })
	}
	return walk
}
