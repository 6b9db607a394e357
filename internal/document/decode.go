package document

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// Decoder reads the bodies of requests. It is safe for concurrent use.
type Decoder struct {
	Table    *schema.Table
	Defaults []func(Value) // default hooks, by schema.Type.Hook - 1
	Limits   Limits
	// KeepNulls keeps null where the schema of a custom resource names a type, but neither
	// allows null nor has a default, so that validation refuses it. Otherwise such a member
	// counts as absent.
	KeepNulls bool
}

// Decode reads data, which must hold one JSON value, as a value of type typ.
//
// Fields that the type does not know are dropped and fields that are there
// more than once count as the last one says; both are reported as problems.
// Names are case-sensitive. A null member is an absent one. Every object then
// goes through these steps, inner ones first:
//
//  1. Fields that are absent, or zero and not Explicit, get Field.Default.
//  2. Fields that are Always and absent get the zero value of their type;
//     an object gets what a sent {} would get, defaults included.
//  3. Implicit fields with a zero value are dropped; an empty list of a field that
//     is Always becomes null.
//  4. The type's default hook runs; step 3 is repeated if it set something.
//
// The document refers to data, which must not change until its Release.
// Errors are *SyntaxError, *TypeError (the first one met) and *LimitError.
func (dec *Decoder) Decode(typ schema.Ref, data []byte) (*Document, []Problem, error) {
	return dec.DecodeOver(Value{}, typ, data)
}

// DecodeOver is Decode for data that replaces old, a value of the same type from
// ReadStored, or absent. Containers in data whose bytes are those of old in the same
// position are not walked: they are canonical, complete and valid already. The result is
// that of Decode.
func (dec *Decoder) DecodeOver(old Value, typ schema.Ref, data []byte) (*Document, []Problem, error) {
	if dec.Table == nil || typ < 0 || int(typ) >= len(dec.Table.Types) {
		return nil, nil, &TypeError{Message: "the table has no such type"}
	}
	d := fromPool(dec.Table, nil)
	d.nodes[1].typ = typ
	p := parser{d: d, table: dec.Table, defaults: dec.Defaults, fill: true, nulls: dec.KeepNulls, limits: dec.Limits.orDefault(), known: old}
	if err := p.document(data); err != nil {
		d.Release()
		return nil, nil, err
	}
	return d, p.problems, nil
}

// DecodeAny reads data, which must hold one JSON value, without a type: members keep the
// order in which they were sent, numbers their spelling. Of members with the same name
// the last counts. The document refers to data, which must not change until its Release.
// Errors are *SyntaxError and *LimitError.
func DecodeAny(data []byte, limits Limits) (*Document, error) {
	d := fromPool(nil, nil)
	p := parser{d: d, limits: limits.orDefault()}
	if err := p.document(data); err != nil {
		d.Release()
		return nil, err
	}
	return d, nil
}

// Repeated lists the members that JSON text has more than once, at any depth; none where
// it cannot be read.
func Repeated(data []byte, limits Limits) []Problem {
	d := fromPool(nil, nil)
	defer d.Release()
	p := parser{d: d, limits: limits.orDefault()}
	if p.document(data) != nil {
		return nil
	}
	return p.problems
}

// document reads the source as the root.
func (p *parser) document(data []byte) error {
	if len(data) > p.limits.MaxBytes {
		return &LimitError{"bytes", p.limits.MaxBytes}
	}
	p.d.src, p.buf = data, data
	if p.next() == 0 && p.pos == len(p.buf) {
		return &SyntaxError{p.pos, "the body is empty, want a JSON value"}
	}
	if err := p.root(); err != nil {
		return err
	}
	if p.next(); p.pos < len(p.buf) {
		return p.unexpected("nothing after the value")
	}
	return nil
}

// root reads node 1. A null in the position of an object is an empty object.
func (p *parser) root() error {
	typ := p.d.nodes[1].typ
	if typ < 0 {
		return p.any(1)
	}
	if p.isNull() {
		p.d.dirt++
		p.known = Value{}
		return p.zeroValue(1, typ)
	}
	return p.value(1, typ)
}

// value reads a value of a type, not null.
func (p *parser) value(n int32, typ schema.Ref) error {
	if typ < 0 {
		return p.any(n)
	}
	t := &p.table.Types[typ]
	if p.pos >= len(p.buf) {
		return p.unexpected("a value")
	}
	known := p.known
	p.known = Value{}
	if known.d != nil && p.taken(n, typ, known) {
		return nil
	}
	if t.Values != nil {
		return p.lenient(n, typ, known)
	}
	switch c := p.buf[p.pos]; t.Kind {
	case schema.Object:
		if c == '{' {
			return p.object(n, typ, known)
		}
	case schema.Map:
		if c == '{' {
			return p.mapping(n, t.Elem)
		}
	case schema.List:
		if c == '[' {
			return p.list(n, t.Elem, known)
		}
	case schema.Any:
		if t.Either() {
			return p.either(n, t)
		}
		return p.any(n)
	default:
		return p.scalar(n, t)
	}
	if err := p.token(n); err != nil {
		return err
	}
	return p.mismatch(n, t)
}

// mismatch is the error for a value of the wrong kind.
func (p *parser) mismatch(n int32, t *schema.Type) error {
	err := p.wrong(n, t, p.d.nodes[n].kind.String(), "")
	switch t.Kind {
	case schema.Quantity, schema.Time, schema.MicroTime, schema.Duration, schema.IntOrString:
		err.Mistake = Malformed
	}
	return err
}

// wrong is the error for a value that its type does not allow; sent describes the value,
// fix the one to send.
func (p *parser) wrong(n int32, t *schema.Type, sent, fix string) *TypeError {
	path := string(p.d.appendPath(nil, n, true))
	var b strings.Builder
	b.WriteString("cannot unmarshal " + sent + " into ")
	if path == "" {
		b.WriteString("a value of type ")
	} else {
		b.WriteString("field " + path + " of type ")
	}
	b.WriteString(typeName(t))
	if fix != "" {
		b.WriteString(": " + fix)
	}
	return &TypeError{Path: path, Message: b.String()}
}

// nullElement is the error for null as an element of a list.
func (p *parser) nullElement(n int32, typ schema.Ref) error {
	err := p.wrong(n, &p.table.Types[typ], "null", "a list has no empty places, remove it")
	err.Mistake = NullElement
	return err
}

// list reads the elements of a list; pos is at the bracket.
func (p *parser) list(n int32, elem schema.Ref, known Value) error {
	if err := p.enter(); err != nil {
		return err
	}
	d := p.d
	start, dirt := p.pos, d.dirt
	d.nodes[n].kind = Array
	p.pos++
	done := p.next() == ']'
	if done {
		p.pos++
	}
	untyped := p.untyped(elem)
	near := known.first()
	for !done {
		m, err := p.node(n, elem, noField)
		if err != nil {
			return err
		}
		d.link(m)
		switch {
		case untyped:
			err = p.any(m)
		case p.isNull():
			if p.table.Types[elem].Values == nil {
				return p.nullElement(m, elem)
			}
			_, err = p.null(m, elem)
		default:
			p.known, near = near, near.following()
			err = p.value(m, elem)
		}
		if err != nil {
			return err
		}
		if !untyped && d.nodes[m].kind == Null && p.table.Types[elem].Values == nil { // the zero time
			return p.nullElement(m, elem)
		}
		if done, err = p.comma(']'); err != nil {
			return err
		}
	}
	p.finish(n, start, dirt)
	p.leave()
	return nil
}

// mapping reads the members of a map; pos is at the brace. A null value stands
// for the zero value of the type.
func (p *parser) mapping(n int32, elem schema.Ref) error {
	if err := p.enter(); err != nil {
		return err
	}
	d := p.d
	start, dirt := p.pos, d.dirt
	d.nodes[n].kind = Object
	p.pos++
	done := p.next() == '}'
	if done {
		p.pos++
	}
	sorted := true
	for !done {
		m, err := p.keyed(n, elem)
		if err != nil {
			return err
		}
		if before := d.nodes[n].last; before != 0 && sorted {
			sorted = d.compareKeys(&d.nodes[before], &d.nodes[m]) < 0
		}
		last := d.nodes[n].last
		d.link(m)
		switch {
		case p.untyped(elem):
			err = p.any(m)
		case p.isNull():
			if p.table.Types[elem].Values != nil {
				var kept bool
				if kept, err = p.null(m, elem); !kept {
					d.dirt++
					d.unlink(last, m)
				}
				break
			}
			if !zeroIsNull(p.table.Types[elem].Kind) {
				d.dirt++
			}
			err = p.zeroValue(m, elem)
		default:
			err = p.value(m, elem)
		}
		if err != nil {
			return err
		}
		if done, err = p.comma('}'); err != nil {
			return err
		}
	}
	if !sorted {
		p.sortMembers(n)
	}
	p.finish(n, start, dirt)
	p.leave()
	return nil
}

// keyed reads a name into a new member.
func (p *parser) keyed(n int32, typ schema.Ref) (int32, error) {
	off, size, hasEscapes, err := p.key()
	if err != nil {
		return 0, err
	}
	m, err := p.node(n, typ, noField)
	if err != nil {
		return 0, err
	}
	nd := &p.d.nodes[m]
	nd.key, nd.keySize = off, size
	if hasEscapes {
		nd.flags |= keyEscaped
	}
	return m, nil
}
