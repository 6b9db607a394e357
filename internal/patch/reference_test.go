package patch

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// lookup shows a table to the reference implementation.
type lookup struct {
	table *schema.Table
	typ   schema.Ref
}

func (l lookup) Name() string { return "table" }

func (l lookup) LookupPatchMetadataForStruct(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	m := merger{table: l.table}
	r := m.field(l.typ, key)
	var meta strategicpatch.PatchMeta
	var strategies []string
	if r.strategy&schema.PatchRetainKeys != 0 {
		strategies = append(strategies, "retainKeys")
	}
	if r.strategy&schema.PatchMerge != 0 {
		strategies = append(strategies, "merge")
	}
	if r.strategy&schema.PatchReplace != 0 {
		strategies = append(strategies, "replace")
	}
	meta.SetPatchStrategies(strategies)
	meta.SetPatchMergeKey(r.key)
	return lookup{l.table, r.typ}, meta, nil
}

func (l lookup) LookupPatchMetadataForSlice(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	sub, meta, err := l.LookupPatchMetadataForStruct(key)
	m := merger{table: l.table}
	return lookup{l.table, m.element(sub.(lookup).typ)}, meta, err
}

// TestAgainstReference compares Strategic with the reference implementation on random
// objects and patches. The generator leaves out cases in which the two differ on purpose
// (see Strategic) and in which the reference depends on the order of a Go map; nulls that
// the reference leaves in new parts are ignored, decoding drops them.
func TestAgainstReference(t *testing.T) {
	table := testTable()
	merged := 0
	for seed := range uint64(1000) {
		if againstReference(t, table, seed) {
			merged++
		}
	}
	if merged < 800 {
		t.Errorf("only %d patches changed something", merged)
	}
}

// FuzzStrategicAgainstReference continues the test with other seeds.
func FuzzStrategicAgainstReference(f *testing.F) {
	table := testTable()
	f.Add(uint64(1000))
	f.Fuzz(func(t *testing.T, seed uint64) { againstReference(t, table, seed) })
}

// againstReference compares the results for one random object and patch, and reports
// whether the patch changed the object.
func againstReference(t *testing.T, table *schema.Table, seed uint64) (changed bool) {
	g := generator{rand.New(rand.NewPCG(seed, 0)), table}
	object := g.object(rootType, 0, false)
	patch := g.patch(rootType, object, 0)
	current, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(patch)
	if err != nil {
		t.Fatal(err)
	}
	want, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, text, lookup{table, rootType})
	if err != nil {
		t.Fatalf("seed %d: the reference fails, the generator should not make this:\n%s\n%s\n%v", seed, current, text, err)
	}
	got, err := Strategic(current, text, table, rootType, document.Limits{}, func(string) bool { return true })
	if err != nil {
		t.Fatalf("seed %d:\ncurrent %s\npatch   %s\nwant    %s\n%v", seed, current, text, want, err)
	}
	got, want = normal(t, got), normal(t, want)
	if !bytes.Equal(got, want) {
		t.Fatalf("seed %d:\ncurrent %s\npatch   %s\ngot  %s\nwant %s", seed, current, text, got, want)
	}
	return !bytes.Equal(got, normal(t, current))
}

// normal sorts members and drops null ones.
func normal(t *testing.T, text []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.Marshal(withoutNulls(v))
	if err != nil {
		t.Fatalf("%v", err)
	}
	return out
}

func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if e == nil {
				delete(v, k)
			} else {
				v[k] = withoutNulls(e)
			}
		}
	case []any:
		for i := range v {
			v[i] = withoutNulls(v[i])
		}
	}
	return v
}
