package definitions

import (
	"encoding/json"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// operand is one side of a comparison: a path from the element, or a value.
type operand struct {
	path  jsonPath
	value string // JSON; "" for a path
}

// operators are those of filters, longer ones first.
var operators = [...]string{"==", "!=", "<=", ">=", "<", ">"}

// filter reads "@.a == 'b')]", after "[?(".
func (p *pathParser) filter() (pathStep, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	p.space()
	operator := ""
	for _, o := range operators {
		if strings.HasPrefix(p.text[p.pos:], o) {
			operator = o
			p.pos += len(o)
			break
		}
	}
	var right operand
	if operator != "" {
		if right, err = p.operand(); err != nil {
			return nil, err
		}
	}
	if p.space(); !strings.HasPrefix(p.text[p.pos:], ")]") {
		return nil, errPath
	}
	p.pos += len(")]")
	return func(v document.Value, give func(document.Value) bool) bool {
		return every(v, func(e document.Value) bool { return !holds(e, left, operator, right) || give(e) })
	}, nil
}

func (p *pathParser) space() {
	for p.pos < len(p.text) && p.text[p.pos] == ' ' {
		p.pos++
	}
}

// operand reads a path that begins with @, a text in quotes, a number, true or false.
func (p *pathParser) operand() (o operand, err error) {
	p.space()
	rest := p.text[p.pos:]
	switch {
	case strings.HasPrefix(rest, "@"):
		p.pos++
		o.path, err = p.path()
		return o, err
	case rest != "" && (rest[0] == '\'' || rest[0] == '"'):
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			return o, errPath
		}
		p.pos += end + 2
		text, err := json.Marshal(rest[1 : end+1])
		o.value = string(text)
		return o, err
	}
	end := strings.IndexAny(rest, " )=!<>")
	if end <= 0 {
		return o, errPath
	}
	p.pos += end
	o.value = rest[:end]
	return o, nil
}

// holds compares the operands for an element of a list; without an operator it reports
// whether the left one has a value.
func holds(e document.Value, left operand, operator string, right operand) bool {
	if operator == "" {
		return left.path.first(e).Exists()
	}
	doc, err := document.DecodeAny([]byte(left.text(e)+"\n"), document.Limits{})
	if err != nil {
		return false
	}
	defer doc.Release()
	other, err := document.DecodeAny([]byte(right.text(e)+"\n"), document.Limits{})
	if err != nil {
		return false
	}
	defer other.Release()
	order, ok := compareScalars(doc.Root(), other.Root())
	switch operator {
	case "==":
		return ok && order == 0
	case "!=":
		return ok && order != 0
	case "<":
		return ok && order < 0
	case "<=":
		return ok && order <= 0
	case ">":
		return ok && order > 0
	}
	return ok && order >= 0
}

// text is the operand as JSON, for an element.
func (o operand) text(e document.Value) string {
	if o.value != "" {
		return o.value
	}
	return string(o.path.first(e).AppendJSON(nil))
}

// compareScalars orders texts and numbers; ok is false for values without an order.
func compareScalars(a, b document.Value) (order int, ok bool) {
	if a.Kind() != b.Kind() {
		return 0, false
	}
	switch a.Kind() {
	case document.String:
		return strings.Compare(a.Text(), b.Text()), true
	case document.Number:
		x, _ := a.Float()
		y, _ := b.Float()
		switch {
		case x < y:
			return -1, true
		case x > y:
			return 1, true
		}
		return 0, true
	case document.Bool:
		if a.Bool() == b.Bool() {
			return 0, true
		}
		return 1, true
	}
	return 0, false
}
