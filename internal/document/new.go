package document

import "github.com/capstan-dev/capstan/internal/schema"

// New makes an object of type typ with only the fields that are always written. typ is an
// Object type of the table.
func New(t *schema.Table, typ schema.Ref) *Document {
	d := fromPool(t, nil)
	d.nodes[1].typ = typ
	d.setObject(1)
	return d
}

// ReadTyped reads text as a value of type typ, like the body of a request but
// without defaults: fields that are always written get their zero values, and
// those that the type does not know are dropped. Errors are those of
// Decoder.Decode. The document refers to data, which must not change until its
// Release.
func ReadTyped(t *schema.Table, typ schema.Ref, data []byte) (*Document, error) {
	return readTyped(t, typ, data, false)
}

// ReadMerged is ReadTyped for an object merged with an applied configuration: it keeps null
// as Decoder.KeepNulls does.
func ReadMerged(t *schema.Table, typ schema.Ref, data []byte) (*Document, error) {
	return readTyped(t, typ, data, true)
}

func readTyped(t *schema.Table, typ schema.Ref, data []byte, nulls bool) (*Document, error) {
	d := fromPool(t, nil)
	d.nodes[1].typ = typ
	p := parser{d: d, table: t, nulls: nulls, limits: Limits{MaxNodes: maxText}.orDefault()}
	if err := p.document(data); err != nil {
		d.Release()
		return nil, err
	}
	return d, nil
}

// DropZeros removes the members of an object whose zero value is the same as no value;
// setters leave them there.
func (v Value) DropZeros() {
	if v.Kind() != Object {
		return
	}
	if t := v.d.objectType(v.n); t != nil {
		v.d.children(v.n)
		v.d.dropZeros(v.n, t)
		v.d.touch(v.n)
	}
}
