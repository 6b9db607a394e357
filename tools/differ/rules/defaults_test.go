package rules

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/definitions"
)

// withDefaults gives some properties defaults, takes the rules away, and lets some be
// null.
func (d drawer) withDefaults(s members) {
	delete(s, "x-kubernetes-validations")
	if below, ok := s["items"].(members); ok {
		d.withDefaults(below)
	}
	if below, ok := s["additionalProperties"].(members); ok {
		d.withDefaults(below)
	}
	properties, _ := s["properties"].(members)
	for _, name := range append(names, "k") {
		below, ok := properties[name].(members)
		if !ok {
			continue
		}
		d.withDefaults(below)
		if d.chance(15) {
			below["nullable"] = true
		}
		if name != "k" && d.chance(35) {
			below["default"] = d.value(below)
		}
	}
}

// damaged is a value without some members, with unknown ones and with nulls. Types stay
// right: values of a wrong one are refused, so that nothing depends on how they are read.
func (d drawer) damaged(v any, s members) any {
	switch v := v.(type) {
	case members:
		properties, _ := s["properties"].(members)
		for _, name := range append(names, "k", "x", "a/b.c") {
			below, known := properties[name].(members)
			if !known {
				below, known = s["additionalProperties"].(members)
			}
			switch _, there := v[name]; {
			case !there || !known:
			case d.chance(15):
				delete(v, name)
			case d.chance(10):
				v[name] = nil
			default:
				v[name] = d.damaged(v[name], below)
			}
		}
		if properties != nil && d.chance(15) {
			v["unknown"] = pick[any](d, 1, "x", members{"a": 1}, []any{members{"b": 2}})
		}
	case []any:
		below, _ := s["items"].(members)
		for i := range v {
			v[i] = d.damaged(v[i], below)
		}
	}
	return v
}

// TestDefaultsAndPruning compares random objects as they are read, with defaults and
// without unknown members, with upstream's library.
func TestDefaultsAndPruning(t *testing.T) {
	seeds := uint64(3000)
	if testing.Short() {
		seeds = 300
	}
	meta, err := definitions.NewMeta(generated.Meta())
	if err != nil {
		t.Fatal(err)
	}
	rows := &definitions.Rows{Meta: meta}
	for seed := range seeds {
		d := drawer{rand.New(rand.NewPCG(seed, 2))}
		s := d.root()
		d.withDefaults(s)
		table := rows.Of(definitions.Pack(definition(s)), [32]byte{})[0].GV.Types()
		structural := structuralOf(t, s)
		for range 5 {
			obj := d.object(s)
			d.damaged(obj, s)
			text, _ := json.Marshal(obj)
			var want map[string]any
			if err := utiljson.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			defaulting.Default(want, structural)
			pruning.Prune(want, structural, true)
			defaulting.PruneNonNullableNullsWithoutDefaults(want, structural)
			doc, _, err := (&document.Decoder{Table: table}).Decode(0, text)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var got map[string]any
			made := doc.Root().AppendJSON(nil)
			doc.Release()
			if err := utiljson.Unmarshal(made, &got); err != nil {
				t.Fatal(err)
			}
			if got["metadata"] = want["metadata"]; !reflect.DeepEqual(got, want) {
				shown, _ := json.Marshal(s)
				expected, _ := json.Marshal(want)
				t.Errorf("seed %d: %s\n object %s\n has  %s\n want %s", seed, shown, text, made, expected)
			}
		}
		if t.Failed() {
			return
		}
	}
}

// structuralOf is upstream's form of a schema, with defaults as they are published.
func structuralOf(t *testing.T, s any) *schema.Structural {
	t.Helper()
	text, _ := json.Marshal(s)
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(text, &v1); err != nil {
		t.Fatal(err)
	}
	var props apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, &props, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(&props)
	if err != nil {
		t.Fatal(err)
	}
	if err := defaulting.PruneDefaults(structural); err != nil {
		t.Fatal(err)
	}
	return structural
}
