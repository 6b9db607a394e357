package conversion

import (
	"errors"
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// original is an object as a webhook gets it. The converted one keeps its name and
// metadata.
type original struct {
	doc  *document.Document
	size int // of its text
}

func readOriginal(text []byte) (*original, error) {
	doc, err := document.DecodeAny(text, document.Limits{})
	if err != nil {
		return nil, fmt.Errorf("an object to convert: %w", err)
	}
	return &original{doc, len(text)}, nil
}

func (o *original) apiVersion() string { return o.doc.Root().Get("apiVersion").Text() }
func (o *original) kind() string       { return o.doc.Root().Get("kind").Text() }

// failed is an error about the webhook.
func (o *original) failed(format string, args ...any) error {
	return failure("conversion webhook for %s "+format, append([]any{gvk(o.apiVersion(), o.kind())}, args...)...)
}

// limits bound the converted object: it has some values, or some for each byte of the
// original, and no more than the body of a request.
func (o *original) limits() document.Limits {
	return document.Limits{MaxNodes: min(1_000_000, 100_000+growth*o.size)}
}

// restore checks a converted object, and gives it the metadata of the original, apart
// from labels and annotations.
func (o *original) restore(text []byte, apiVersion string) ([]byte, error) {
	doc, err := document.DecodeAny(text, o.limits())
	if err != nil {
		return nil, o.failed("returned invalid object: %v", err)
	}
	defer doc.Release()
	is := doc.Root()
	if is.Kind() != document.Object {
		return nil, o.failed("returned invalid object: a JSON object is expected, got %s", document.Shown(is))
	}
	if got := is.Get("apiVersion").Text(); got != apiVersion {
		return nil, o.failed("returned invalid object at index 0: invalid groupVersion (expected %s, received %s)", apiVersion, got)
	}
	if got := is.Get("kind").Text(); got != o.kind() {
		return nil, o.failed("returned invalid object at index 0: invalid kind (expected %s, received %s)", o.kind(), got)
	}
	meta, was := is.Get("metadata"), o.doc.Root().Get("metadata")
	for _, field := range [...]struct{ name, word string }{{"name", "name"}, {"namespace", "namespace"}, {"uid", "UID"}} {
		if want, got := was.Get(field.name).Text(), meta.Get(field.name).Text(); want != got {
			return nil, o.failed("returned invalid object: must have the same %s: %s != %s", field.word, want, got)
		}
	}
	err = checkMetadata(meta, was)
	if err == nil {
		text, err = withMetadata(is, was)
	}
	if err != nil {
		return nil, o.failed("returned invalid metadata: %v", err)
	}
	return text, nil
}

func checkMetadata(meta, was document.Value) error {
	switch {
	case !meta.Exists():
		return errors.New("missing metadata in converted object")
	case meta.Kind() != document.Object:
		return fmt.Errorf("invalid metadata of type %s in converted object", typeOf(meta))
	}
	for _, name := range describing {
		if err := checkTexts(meta.Get(name), was.Get(name), name); err != nil {
			return err
		}
	}
	return nil
}

// typeOf is the type of a value in messages.
func typeOf(v document.Value) string {
	switch v.Kind() {
	case document.String:
		return "string"
	case document.Array:
		return "[]interface {}"
	case document.Object:
		return "map[string]interface {}"
	case document.Null:
		return "<nil>"
	case document.Bool:
		return "bool"
	}
	if _, whole := v.Int(); whole {
		return "int64"
	}
	return "float64"
}

// withMetadata is an object with other metadata, apart from its labels and annotations.
func withMetadata(obj, metadata document.Value) ([]byte, error) {
	described := map[string][]byte{}
	for _, name := range describing {
		if v := obj.At("metadata", name); v.Exists() && !v.IsNull() {
			described[name] = v.AppendJSON(nil)
		}
	}
	obj.Put("metadata", metadata)
	meta := obj.Get("metadata")
	for _, name := range describing {
		meta.Remove(name)
		if text := described[name]; text != nil {
			if err := meta.SetRaw(name, text); err != nil {
				return nil, err
			}
		}
	}
	return obj.AppendJSON(nil), nil
}

// describing are the members of metadata that a webhook may change.
var describing = [...]string{"labels", "annotations"}

// maxAnnotations bounds all annotations of an object together, in bytes of keys and
// values.
const maxAnnotations = 256 << 10

// checkTexts checks changed labels or annotations.
func checkTexts(now, before document.Value, name string) error {
	if !now.Exists() || now.IsNull() {
		return nil
	}
	if now.Kind() != document.Object {
		return fmt.Errorf("invalid metadata.%s of type %s in converted object", name, typeOf(now))
	}
	for key, v := range now.Members() {
		if v.Kind() != document.String {
			return fmt.Errorf("metadata.%s[%s] must be a string, but is %s in converted object", name, key, typeOf(v))
		}
	}
	if before.Exists() && document.Equal(now, before) {
		return nil
	}
	size := 0
	for key, v := range now.Members() {
		size += len(key) + len(v.Text())
		used := key
		if name == "annotations" {
			used = strings.ToLower(key)
		}
		problems := document.CheckFormat("qualified-name", used)
		value := key
		if len(problems) == 0 && name == "labels" {
			problems, value = document.CheckFormat("label-value", v.Text()), v.Text()
		}
		if len(problems) > 0 {
			return fmt.Errorf("metadata.%s: Invalid value: %q: %s", name, value, strings.Join(problems, ", "))
		}
	}
	if name == "annotations" && size > maxAnnotations {
		return fmt.Errorf("metadata.annotations: Too long: must have at most %d bytes", maxAnnotations)
	}
	return nil
}
