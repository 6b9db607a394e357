package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
)

// MarkAnnotation holds the mark of a write.
const MarkAnnotation = "capstan.test/mark"

// Meta is the part of an object's metadata that every representation shows.
type Meta struct {
	Name, Namespace, ResourceVersion string
	Labels, Annotations              map[string]string
}

// State is the state that the metadata describes, without fields and digest.
func (m *Meta) State(resource string) (State, error) {
	revision, err := strconv.ParseUint(m.ResourceVersion, 10, 64)
	if err != nil {
		return State{}, fmt.Errorf("the resourceVersion %q of %s is not a number", m.ResourceVersion, m.Name)
	}
	return State{Key: Key(resource, m.Namespace, m.Name), Revision: revision, Labels: m.Labels, Mark: m.Annotations[MarkAnnotation]}, nil
}

// ParseObject reads a whole object in JSON. The fields are its name, its
// namespace and spec.unschedulable.
func ParseObject(resource string, text []byte) (State, error) {
	var object struct {
		Metadata Meta
		Spec     struct{ Unschedulable bool }
	}
	if err := json.Unmarshal(text, &object); err != nil {
		return State{}, err
	}
	s, err := object.Metadata.State(resource)
	if err != nil {
		return State{}, err
	}
	s.Fields = map[string]string{"metadata.name": object.Metadata.Name, "metadata.namespace": object.Metadata.Namespace,
		"spec.unschedulable": strconv.FormatBool(object.Spec.Unschedulable)}
	s.Digest = digest(text, object.Metadata.ResourceVersion)
	return s, nil
}

// digest is a digest of the text from the metadata on (items of lists have no kind)
// without its first resourceVersion, which is the object's own, since embedded objects
// have none.
func digest(text []byte, revision string) string {
	if i := bytes.Index(text, []byte(`"metadata":`)); i >= 0 {
		text = text[i:]
	}
	h := sha256.New()
	own := []byte(`"resourceVersion":"` + revision + `"`)
	if i := bytes.Index(text, own); i >= 0 {
		h.Write(text[:i])
		text = text[i+len(own):]
	}
	h.Write(bytes.TrimRight(text, "\n"))
	return hex.EncodeToString(h.Sum(nil)[:12])
}
