package registry

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/yaml"
)

// content is an object as etcd keeps it.
type content struct {
	apiVersion, kind string
	content          []byte // its message, or its JSON text
	binary           bool
}

// formatOf is the format of bytes in etcd.
func formatOf(data []byte) codec.Format {
	switch {
	case len(data) > 0 && data[0] == '{':
		return codec.JSON
	case len(data) > 0 && 'a' <= data[0] && data[0] <= 'z' && !bytes.HasPrefix(data, []byte("k8s")): // the first of its keys
		return codec.YAML
	case bytes.HasPrefix(data, []byte(codec.CBORTag)):
		return codec.CBOR
	}
	return codec.Binary
}

// open reads the envelope of a binary object, or the kind of one that is text. Custom objects in CBOR
// come from a kube-apiserver with the gate CBORServingAndStorage.
func open(data []byte) (o content, err error) {
	switch formatOf(data) {
	case codec.YAML:
		if data, err = yaml.ToJSON(data); err != nil {
			return o, err
		}
		return openText(data)
	case codec.CBOR:
		if data, err = codec.DecodeCBOR(data); err != nil {
			return o, err
		}
		return openText(data)
	case codec.JSON:
		return openText(data)
	}
	o.binary = true
	o.apiVersion, o.kind, o.content, err = codec.OpenEnvelope(data)
	return o, err
}

// openText reads the kind of an object that is JSON. That of kube-apiserver has no white
// space, so that the text need not be parsed.
func openText(data []byte) (content, error) {
	o := content{content: data}
	apiVersion, ok := document.Find(data, "apiVersion")
	kind, also := document.Find(data, "kind")
	if ok && also {
		o.apiVersion, o.kind = document.Unquote(apiVersion), document.Unquote(kind)
		return o, nil
	}
	doc, err := document.DecodeAny(data, document.Limits{MaxBytes: maxValue})
	if err != nil {
		return o, err
	}
	defer doc.Release()
	o.apiVersion, o.kind = doc.Root().Get("apiVersion").Text(), doc.Root().Get("kind").Text()
	return o, nil
}

// revision is the member of an object in which the store puts the revision.
const revision = `"resourceVersion":"`

// hasPlace reports whether the body of a value has a place for the revision.
func hasPlace(v store.Value) bool {
	at := v.RevisionAt
	return at >= 0 && at < len(v.Body) && v.Body[at] == '"' && bytes.HasSuffix(v.Body[:at], []byte(revision))
}

// withoutRevision is the body of a value that has a place for the revision, without it.
func withoutRevision(v store.Value) []byte {
	from, to := v.RevisionAt-len(revision), v.RevisionAt+1
	switch {
	case v.Body[from-1] == ',':
		from--
	case to < len(v.Body) && v.Body[to] == ',':
		to++
	}
	return append(append(make([]byte, 0, len(v.Body)), v.Body[:from]...), v.Body[to:]...)
}

// escaped is the text of JSON as kube-apiserver writes it: safe in HTML, and a line.
func escaped(text []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(text) + len(text)/16 + 1)
	json.HTMLEscape(&b, text)
	b.WriteByte('\n')
	return b.Bytes()
}

// written is the text of an object that has a binary form, given as JSON without the revision.
func (k *kind) written(name string, body []byte, format codec.Format) ([]byte, error) {
	body, err := edited(body, func(root document.Value) error {
		root.SetString("kind", name)
		root.SetString("apiVersion", k.apiVersion)
		if k.older != nil && k.older.text != nil {
			k.older.text(root)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case format == codec.YAML:
		return codec.ToYAML(body)
	}
	return escaped(body), nil
}

// A record of the server itself, which is not an object, is kept as uvarint(RevisionAt+1), uvarint(length of Meta),
// Meta and Body.

func encodeRecord(v store.Value) ([]byte, error) {
	if v.RevisionAt > len(v.Body) {
		return nil, errors.New("the place for its revision is behind its end; seal it again")
	}
	data := make([]byte, 0, len(v.Meta)+len(v.Body)+2*binary.MaxVarintLen32)
	data = binary.AppendUvarint(data, uint64(max(v.RevisionAt, -1)+1))
	data = binary.AppendUvarint(data, uint64(len(v.Meta)))
	return append(append(data, v.Meta...), v.Body...), nil
}

func decodeRecord(data []byte) (store.Value, error) {
	at, n := binary.Uvarint(data)
	if n <= 0 {
		return store.Value{}, errRecord
	}
	data = data[n:]
	size, n := binary.Uvarint(data)
	if n <= 0 || size > uint64(len(data)-n) {
		return store.Value{}, errRecord
	}
	meta, body := data[n:n+int(size)], data[n+int(size):]
	if at > uint64(len(body))+1 {
		return store.Value{}, errRecord
	}
	return store.Value{Meta: bytes.Clone(meta), Body: bytes.Clone(body), RevisionAt: int(at) - 1}, nil
}

var errRecord = errors.New("the record is damaged; restore a backup")

// edited edits a text of JSON as a tree without types.
func edited(text []byte, edit func(root document.Value) error) ([]byte, error) {
	doc, err := document.DecodeAny(text, document.Limits{MaxBytes: maxValue})
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	if err := edit(doc.Root()); err != nil {
		return nil, err
	}
	return doc.Root().AppendJSON(nil), nil
}
