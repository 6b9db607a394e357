package emit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"github.com/klauspost/compress/gzip"
	"google.golang.org/protobuf/proto"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
)

// OpenAPI emits the documents that clients read at /openapi/v2 and
// /openapi/v3, and the Go package that embeds them. A reference to a type that
// no document declares is an error with its place.
func OpenAPI(m *model.Model) ([]File, error) {
	files, err := Published(m)
	if err != nil {
		return nil, err
	}
	var rows []openapiRow
	for _, f := range files[1:] {
		rows = append(rows, newOpenapiRow(f.Path, "v3/"+strings.ReplaceAll(f.Path, "/", "__")+".json", f.Data))
	}
	slices.SortFunc(rows, func(a, b openapiRow) int { return strings.Compare(a.Path, b.Path) })
	v2 := files[0].Data
	binary, err := swaggerBinary(v2)
	if err != nil {
		return nil, err
	}
	code, err := openapiPackage(rows, newOpenapiRow("", "v2.json", v2), m.Module == "")
	if err != nil {
		return nil, err
	}
	for i, f := range files[1:] {
		files[i+1].Path = "openapi/v3/" + strings.ReplaceAll(f.Path, "/", "__") + ".json"
	}
	files[0].Path = "openapi/v2.json"
	return append(files, File{"openapi/v2.pb", binary}, File{"openapi/openapi.go", code}), nil
}

// Published are the published documents with their paths: first that of the second version, which has none, then those of the
// third.
func Published(m *model.Model) ([]File, error) {
	files := make([]File, 1)
	all := newPaths(m, version2)
	if m.Module != "" {
		all.name(m.Module)
	}
	for _, part := range parts(m) {
		one := newPaths(m, version3)
		one.name(part.group)
		if err := part.write(one); err != nil {
			return nil, err
		}
		if !part.off {
			if err := part.write(all); err != nil {
				return nil, err
			}
		}
		doc, err := one.document()
		if err != nil {
			return nil, err
		}
		data, err := writeDocument(doc)
		if err != nil {
			return nil, err
		}
		files = append(files, File{part.path, data})
	}
	doc, err := all.document()
	if err != nil {
		return nil, err
	}
	files[0].Data, err = writeDocument(doc)
	return files, err
}

// PackedOpenAPI emits the same with the documents in the form of gzip, of which the binary
// consists. Those in JSON stay next to them for reviews. The documents of another module are
// packed by its program, since they are few, and its repository holds texts only.
func PackedOpenAPI(m *model.Model) ([]File, error) {
	files, err := OpenAPI(m)
	if m.Module != "" {
		return slices.DeleteFunc(files, func(f File) bool { return f.Path == "openapi/v2.pb" }), err
	}
	for i, f := range files {
		name, document := strings.CutPrefix(f.Path, "openapi/")
		if !document || strings.HasSuffix(name, ".go") {
			continue
		}
		packed := File{"openapi/packed/" + name + ".gz", pack(f.Data)}
		if strings.HasSuffix(name, ".pb") {
			files[i] = packed
		} else {
			files = append(files, packed)
		}
	}
	return files, err
}

// pack packs a text.
func pack(text []byte) []byte {
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.DefaultCompression) // the level is known
	_, _ = z.Write(text)                                     // a buffer takes everything
	_ = z.Close()
	return b.Bytes()
}

// swaggerBinary is the binary form of a document of the second version.
func swaggerBinary(data []byte) ([]byte, error) {
	doc, err := openapi_v2.ParseDocument(data)
	if err != nil {
		return nil, fmt.Errorf("binary form of the OpenAPI document: %w", err)
	}
	return proto.MarshalOptions{Deterministic: true}.Marshal(doc)
}

// lines is an object that is written with a line per member, so that a change
// of one definition or path shows as one line.
type lines map[string]any

func (l lines) write(b *bytes.Buffer) error {
	b.WriteString("{\n")
	for i, name := range slices.Sorted(maps.Keys(l)) {
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(b, "%q: ", name)
		if inner, ok := l[name].(lines); ok {
			if err := inner.write(b); err != nil {
				return err
			}
			continue
		}
		text, err := compact(l[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		b.Write(text)
	}
	b.WriteString("\n}")
	return nil
}

func writeDocument(doc lines) ([]byte, error) {
	var b bytes.Buffer
	err := doc.write(&b)
	b.WriteByte('\n')
	return b.Bytes(), err
}

// compact is the JSON text of a value on one line, without HTML escapes.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// openapiRow is one embedded document.
type openapiRow struct{ Path, File, Var, Hash string }

func newOpenapiRow(path, file string, data []byte) openapiRow {
	name := "v2"
	for _, word := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '.' || r == '-' }) {
		name += upperFirst(word)
	}
	if path != "" {
		name = "v3" + strings.TrimPrefix(name, "v2")
	}
	return openapiRow{Path: path, File: file, Var: name, Hash: api.HashOf(data)}
}

func openapiPackage(rows []openapiRow, v2 openapiRow, packed bool) ([]byte, error) {
	return executeGo("openapi.go.tmpl", struct {
		V3     []openapiRow
		V2     openapiRow
		Packed bool // the binary holds the documents in the form of gzip
	}{rows, v2, packed})
}
