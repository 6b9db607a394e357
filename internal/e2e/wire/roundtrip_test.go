package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/schema"
)

// emptyDiffers lists fields whose zero value the two sides write differently, and why.
var emptyDiffers = map[string]string{
	"core/v1.HostAlias.ip":         "Go writes an empty one since a later release",
	"core/v1.PodIP.ip":             "Go writes an empty one since a later release",
	"core/v1.RangeAllocation.data": "no bytes are null in Go; the kind is not served",
	// The field was withdrawn after 1.25.
	"networking/v1.NetworkPolicy.status": "Go does not have it any more",
}

// seedsPerKind is the number of objects of every kind that `go test` compares; the fuzz
// target continues from there.
const seedsPerKind = 25

// TestRoundTrip compares random objects of every kind.
func TestRoundTrip(t *testing.T) {
	w := newWorld(t)
	for _, k := range w.kinds {
		t.Run(k.gvk.String(), func(t *testing.T) {
			t.Parallel()
			filled := 0
			for seed := range int64(seedsPerKind) {
				size, err := w.compare(k, seed)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				filled = max(filled, size)
			}
			if filled < 20 {
				t.Errorf("no object of the kind had more than %d bytes: nothing was compared", filled)
			}
		})
	}
}

// FuzzRoundTrip looks for an object that the two sides see differently.
func FuzzRoundTrip(f *testing.F) {
	w := newWorld(f)
	f.Add(uint16(0), int64(0))
	f.Fuzz(func(t *testing.T, index uint16, seed int64) {
		k := w.kinds[int(index)%len(w.kinds)]
		if _, err := w.compare(k, seed); err != nil {
			t.Fatalf("%s, seed %d: %v", k.gvk, seed, err)
		}
	})
}

// compare fills an object and sends it both ways. size is that of its JSON.
func (w *world) compare(k kind, seed int64) (size int, err error) {
	object, err := w.scheme.New(k.gvk)
	if err != nil {
		return 0, err
	}
	newFiller(seed).Fill(object)
	object.GetObjectKind().SetGroupVersionKind(k.gvk)
	message := new(bytes.Buffer)
	if err := w.binary.Encode(object, message); err != nil {
		return 0, err
	}
	// In the binary form no list and an empty one are the same, so the expected object is
	// the one that Go itself reads.
	if object, _, err = w.binary.Decode(message.Bytes(), nil, nil); err != nil {
		return 0, err
	}
	text, err := json.Marshal(object)
	if err != nil {
		return 0, err
	}
	// The JSON from Go. The Go types are newer: fields that 1.25 does not have are
	// dropped here.
	want, err := k.canonical(text)
	if err != nil {
		return 0, fmt.Errorf("Go's JSON cannot be read: %w\n%s", err, text)
	}
	if diff := cmp.Diff(k.known(k.typ, tree(text)), k.known(k.typ, tree(want))); diff != "" {
		return 0, fmt.Errorf("JSON (- Go, + ours):\n%s", diff)
	}
	known, err := w.fromJSON(k, want)
	if err != nil {
		return 0, err
	}
	got, err := k.fromBinary(message.Bytes())
	if err != nil {
		return 0, fmt.Errorf("Go's binary form cannot be read: %w\n%x", err, message.Bytes())
	}
	if diff := diffJSON(want, got); diff != "" {
		return 0, fmt.Errorf("Go's binary form (- as JSON, + as read):\n%s", diff)
	}
	ours, err := k.toBinary(want)
	if err != nil {
		return 0, err
	}
	read, _, err := w.binary.Decode(ours, nil, nil)
	if err != nil {
		return 0, fmt.Errorf("Go cannot read our binary form: %w\n%x", err, ours)
	}
	return len(want), equal("our binary form (- as JSON, + as Go read it)", known, read)
}

// known removes from JSON fields that 1.25 does not have, and lists without elements:
// like no list, they are null where they are always written.
func (k kind) known(ref schema.Ref, v any) any {
	t := &k.table.Types[ref]
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			switch t.Kind {
			case schema.Map:
				v[name] = k.known(t.Elem, member)
			case schema.Object:
				i := t.Field(name)
				if list, ok := member.([]any); i < 0 || ok && len(list) == 0 && k.table.Types[t.Fields[i].Type].Kind == schema.List ||
					isZero(member) && emptyDiffers[t.Name+"."+name] != "" {
					delete(v, name)
				} else {
					v[name] = k.known(t.Fields[i].Type, member)
				}
			}
		}
	case []any:
		for i := range v {
			if t.Kind == schema.List {
				v[i] = k.known(t.Elem, v[i])
			}
		}
	}
	return v
}

func isZero(v any) bool {
	m, ok := v.(map[string]any)
	return v == "" || ok && len(m) == 0
}

// canonical is the JSON that the server makes of a body.
func (k kind) canonical(text []byte) ([]byte, error) {
	doc, _, err := k.plain.Decode(k.typ, text)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	return doc.Root().AppendJSON(nil), nil
}

func (k kind) fromBinary(data []byte) ([]byte, error) {
	apiVersion, name, message, err := codec.OpenEnvelope(data)
	if err != nil {
		return nil, err
	}
	if apiVersion != k.gvk.GroupVersion().String() || name != k.gvk.Kind {
		return nil, fmt.Errorf("the envelope says %s %s", apiVersion, name)
	}
	text, err := k.binary.Decode(k.typ, message)
	if err != nil {
		return nil, err
	}
	return k.canonical(text)
}

func (k kind) toBinary(text []byte) ([]byte, error) {
	message, err := k.binary.Append(nil, k.typ, text)
	if err != nil {
		return nil, err
	}
	return codec.AppendEnvelope(nil, k.gvk.GroupVersion().String(), k.gvk.Kind, message), nil
}

func (w *world) fromJSON(k kind, text []byte) (runtime.Object, error) {
	object, err := w.scheme.New(k.gvk)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, object); err != nil {
		return nil, fmt.Errorf("Go cannot read our JSON: %w\n%s", err, text)
	}
	object.GetObjectKind().SetGroupVersionKind(k.gvk)
	return object, nil
}

// equal compares Go objects; no list and an empty list are the same.
func equal(what string, want, got runtime.Object) error {
	got.GetObjectKind().SetGroupVersionKind(want.GetObjectKind().GroupVersionKind())
	if equality.Semantic.DeepEqual(want, got) {
		return nil
	}
	a, errA := json.Marshal(want)
	b, errB := json.Marshal(got)
	if errA != nil || errB != nil {
		return fmt.Errorf("%s: %v, %v", what, errA, errB)
	}
	if diff := diffJSON(a, b); diff != "" {
		return fmt.Errorf("%s:\n%s", what, diff)
	}
	return fmt.Errorf("%s: they differ, but not in their JSON: %s", what, a)
}

// diffJSON compares JSON texts. kind and apiVersion are outside of a message, and null
// counts as absent.
func diffJSON(a, b []byte) string {
	x, y := tree(a), tree(b)
	if reflect.DeepEqual(x, y) {
		return ""
	}
	return cmp.Diff(x, y)
}

func tree(text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return err.Error()
	}
	if m, ok := v.(map[string]any); ok {
		delete(m, "kind")
		delete(m, "apiVersion")
	}
	return withoutNulls(v)
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			if member == nil {
				delete(v, name)
			} else {
				v[name] = withoutNulls(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
