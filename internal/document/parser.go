package document

import (
	"encoding/binary"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/schema"
)

// parser walks JSON text once and builds nodes. The text is the document's
// source or its side buffer.
//
// Positions are those of the next byte. Nodes are linked to their parents
// before they are filled, so that errors can name their path.
type parser struct {
	d        *Document
	table    *schema.Table
	defaults []func(Value)
	fill     bool   // apply the schema's defaults
	nulls    bool   // Decoder.KeepNulls
	buf      []byte // the text
	pos      int
	bit      uint32 // sideBit when buf is the side buffer
	depth    int
	limits   Limits
	problems []Problem
	levels   int // of the problems, and of others that were the same
	// The stored value in the position of the next value, absent if unknown. value takes
	// it.
	known Value
	// The first members that were null and have no node, so that one that repeats them is found.
	dropped  [8]nullMember
	nDropped int
}

// nullMember is a member of an object, whose value was null.
type nullMember struct {
	object int32
	field  uint16
}

// noteNull notes a member that is null and gets no node. One that was null before is
// a duplicate.
func (p *parser) noteNull(object int32, field int) {
	switch {
	case !p.wasNull(object, field):
		if p.nDropped < len(p.dropped) {
			p.dropped[p.nDropped] = nullMember{object, uint16(field)}
			p.nDropped++
		}
	case p.notes():
		name := p.table.Types[p.d.nodes[object].typ].Fields[field].Name
		path := appendStep(p.d.appendPath(nil, object, false), name)
		p.problems = addProblem(p.problems, Problem{Duplicate: true, Path: string(path)})
	}
}

// wasNull reports whether a member of the object was null.
func (p *parser) wasNull(object int32, field int) bool {
	return slices.Contains(p.dropped[:p.nDropped], nullMember{object, uint16(field)})
}

// next skips white space and returns the byte at pos, 0 at the end.
func (p *parser) next() byte {
	if p.pos < len(p.buf) {
		if c := p.buf[p.pos]; c > ' ' {
			return c
		}
	}
	return p.space()
}

// space is next where white space is likely.
func (p *parser) space() byte {
	b, i := p.buf, p.pos
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
		for i+8 <= len(b) && binary.LittleEndian.Uint64(b[i:]) == ones*' ' { // indentation
			i += 8
		}
	}
	if i > p.pos {
		p.d.dirt++
		p.pos = i
	}
	if i < len(b) {
		return b[i]
	}
	return 0
}

// enter is called at the beginning of a container, leave at its end.
func (p *parser) enter() error {
	p.depth++
	if p.depth > p.limits.MaxDepth {
		return &LimitError{"levels of nesting", p.limits.MaxDepth}
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

// node adds a node.
func (p *parser) node(parent int32, typ schema.Ref, field uint16) (int32, error) {
	if len(p.d.nodes) >= p.limits.MaxNodes {
		return 0, &LimitError{"values", p.limits.MaxNodes}
	}
	if len(p.d.side) > maxText/2 {
		return 0, &LimitError{"bytes", maxText / 2}
	}
	return p.d.newNode(parent, typ, field), nil
}

// unexpected is the error for the byte at pos.
func (p *parser) unexpected(want string) error {
	if p.pos >= len(p.buf) {
		return &SyntaxError{p.pos, "unexpected end of the text, want " + want}
	}
	r, _ := utf8.DecodeRune(p.buf[p.pos:])
	return &SyntaxError{p.pos, fmt.Sprintf("invalid character %q, want %s", r, want)}
}

// comma is called after an element or member; end is the byte that ends the container. It
// reports whether the container is at its end.
func (p *parser) comma(end byte) (done bool, err error) {
	switch p.next() {
	case ',':
		p.pos++
		p.next()
		return false, nil
	case end:
		p.pos++
		return true, nil
	}
	if end == '}' {
		return false, p.unexpected("a comma or } after the member")
	}
	return false, p.unexpected("a comma or ] after the element")
}

// quoted reads a string. It returns the offset and length of its inside, and whether it
// has escapes or runes beyond ASCII.
func (p *parser) quoted() (start, size int, hasEscapes, hasRunes bool, err error) {
	p.pos++
	start = p.pos
	b := p.buf
	i := start
	for {
		i = plainEnd(b, i)
		if i >= len(b) {
			p.pos = i
			return 0, 0, false, false, p.unexpected("the quote that ends the string")
		}
		switch c := b[i]; {
		case c == '"':
			p.pos = i + 1
			return start, i - start, hasEscapes, hasRunes, nil
		case c == '\\':
			hasEscapes = true
			if i = escapeEnd(b, i); i < 0 {
				p.pos = -i
				return 0, 0, false, false, p.unexpected(`an escape such as \n or \u00e9`)
			}
		case c < ' ':
			p.pos = i
			return 0, 0, false, false, p.unexpected("no control character in a string, escape it")
		default:
			hasRunes = true
			for i < len(b) && b[i] >= utf8.RuneSelf {
				i++
			}
		}
	}
}

// key reads the name of a member and the colon. The name is in canonical
// escapes.
func (p *parser) key() (off, size uint32, hasEscapes bool, err error) {
	if p.pos >= len(p.buf) || p.buf[p.pos] != '"' {
		return 0, 0, false, p.unexpected("the name of a member in quotes")
	}
	start, length, hasEscapes, hasRunes, err := p.quoted()
	if err != nil {
		return 0, 0, false, err
	}
	off, size = uint32(start)|p.bit, uint32(length)
	if hasEscapes || hasRunes {
		off, size, hasEscapes = p.canonicalText(off, size, hasEscapes)
	}
	return off, size, hasEscapes, p.colon()
}

// colon moves from the end of a name to the value.
func (p *parser) colon() error {
	if p.next() != ':' {
		return p.unexpected("a colon")
	}
	p.pos++
	p.next()
	return nil
}

// canonicalText rewrites the inside of a string with escapes or runes unless
// it is canonical.
func (p *parser) canonicalText(off, size uint32, hasEscapes bool) (uint32, uint32, bool) {
	d := p.d
	raw := d.text(off, size)
	if !hasEscapes && utf8.Valid(raw) {
		return off, size, false
	}
	plain := raw
	if hasEscapes {
		d.scratch = AppendUnescaped(d.scratch[:0], raw)
		plain = d.scratch
	}
	at := len(d.side)
	d.side = appendEscaped(d.side, plain)
	if written := d.side[at:]; string(written) == string(raw) {
		d.side = d.side[:at]
		return off, size, true
	}
	d.dirt++
	written := d.side[at:]
	return uint32(at) | sideBit, uint32(len(written)), plainEnd(written, 0) < len(written) && containsEscape(written)
}

// token reads the scalar at pos into n. For a container only the kind is set.
func (p *parser) token(n int32) error {
	start := p.pos
	nd := &p.d.nodes[n]
	if start < len(p.buf) {
		switch p.buf[start] {
		case '"':
			return p.stringToken(n)
		case '{':
			nd.kind = Object
			return nil
		case '[':
			nd.kind = Array
			return nil
		}
	}
	kind, err := p.word()
	if err != nil {
		return err
	}
	nd.kind, nd.off, nd.size = kind, uint32(start)|p.bit, uint32(p.pos-start)
	return nil
}

// word reads a number, true, false or null.
func (p *parser) word() (Kind, error) {
	if p.pos >= len(p.buf) {
		return Absent, p.unexpected("a value")
	}
	start := p.pos
	kind := Bool
	switch p.buf[start] {
	case 't':
		p.literal("true")
	case 'f':
		p.literal("false")
	case 'n':
		kind = Null
		p.literal("null")
	default:
		end, ok := numberEnd(p.buf, start)
		p.pos = end
		switch {
		case ok:
			return Number, nil
		case end == start:
			return Absent, p.unexpected("a value")
		}
		return Absent, p.unexpected("a digit")
	}
	if p.pos == start {
		return Absent, p.unexpected("true, false or null")
	}
	return kind, nil
}

func (p *parser) stringToken(n int32) error {
	start, length, hasEscapes, hasRunes, err := p.quoted()
	if err != nil {
		return err
	}
	off, size := uint32(start-1)|p.bit, uint32(length+2)
	if hasEscapes || hasRunes {
		inOff, inSize, still := p.canonicalText(off+1, size-2, hasEscapes)
		if inOff != off+1 {
			// Put the quotes around the text that was just written.
			d := p.d
			d.side = append(d.side, '"', '"')
			at := inOff &^ sideBit
			copy(d.side[at+1:], d.side[at:at+inSize])
			d.side[at], d.side[at+1+inSize] = '"', '"'
			off, size = inOff, inSize+2
		}
		hasEscapes = still
	}
	nd := &p.d.nodes[n]
	nd.kind, nd.off, nd.size = String, off, size
	if hasEscapes {
		nd.flags |= escaped
	}
	return nil
}

// literal moves past the word if it is there.
func (p *parser) literal(word string) {
	if len(p.buf)-p.pos >= len(word) && string(p.buf[p.pos:p.pos+len(word)]) == word {
		p.pos += len(word)
	}
}

// isNull reports whether null is at pos, and moves past it.
func (p *parser) isNull() bool {
	if p.pos >= len(p.buf) || p.buf[p.pos] != 'n' {
		return false
	}
	start := p.pos
	p.literal("null")
	return p.pos > start
}

// skip reads a value without making nodes.
func (p *parser) skip() error {
	if p.pos >= len(p.buf) {
		return p.unexpected("a value")
	}
	c := p.buf[p.pos]
	if c == '"' {
		_, _, _, _, err := p.quoted()
		return err
	}
	if c != '{' && c != '[' {
		_, err := p.word()
		return err
	}
	if err := p.enter(); err != nil {
		return err
	}
	p.pos++
	end := c + 2 // of { and [ alike
	done := p.next() == end
	if done {
		p.pos++
	}
	for !done {
		if c == '{' {
			if _, _, _, err := p.key(); err != nil {
				return err
			}
		}
		if err := p.skip(); err != nil {
			return err
		}
		var err error
		if done, err = p.comma(end); err != nil {
			return err
		}
	}
	p.leave()
	return nil
}
