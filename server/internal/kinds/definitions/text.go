package definitions

import (
	"bytes"

	"github.com/klauspost/compress/s2"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// Text is a definition as it is stored, packed: most of one are descriptions, which are
// read when somebody asks for them, and each definition is kept as long as it is served.
type Text struct{ packed []byte }

// Pack packs the JSON of a definition.
func Pack(text []byte) Text { return Text{bytes.Clone(s2.Encode(nil, text))} }

func (t Text) Unpacked() []byte {
	text, err := s2.Decode(nil, t.packed)
	if err != nil {
		return nil // it was packed here, so this cannot be; it reads as no definition
	}
	return text
}

// sameSchemas reports, for each version of a definition, whether its schema is that of the
// storage version.
func sameSchemas(d document.Value) (same []bool) {
	versions := d.At("spec", "versions")
	if versions.Len() < 2 {
		return make([]bool, versions.Len())
	}
	var form []byte
	for _, version := range versions.Elements() {
		if version.Get("storage").Bool() {
			form = version.Get("schema").AppendJSON(nil)
		}
	}
	for _, version := range versions.Elements() {
		same = append(same, bytes.Equal(version.Get("schema").AppendJSON(nil), form))
	}
	return same
}

// withoutSchemas is a copy of a definition with the parts that rows are always made of.
// Values that are kept refer to its text, which is small.
func withoutSchemas(d document.Value) (*document.Document, error) {
	for _, version := range d.At("spec", "versions").Elements() {
		version.Remove("schema")
	}
	for _, name := range [...]string{"annotations", "managedFields"} {
		d.Get("metadata").Remove(name)
	}
	return document.ReadStored(nil, schema.None, d.AppendJSON(nil))
}
