package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// drawnSchemas is the number of types in a drawn document, and objectsPerSchema that of the
// objects that each is tried with.
const drawnSchemas, objectsPerSchema = 100, 40

// Documents with drawn keywords of JSON Schema, and drawn objects: a JSON Schema library
// that reads the same text agrees about the stored form of each.
func TestKeywordsAgree(t *testing.T) {
	right, wrong, used := 0, 0, map[string]int{}
	for batch := range max(1, drawnObjects(t, 12000)/drawnSchemas/objectsPerSchema) {
		k := drawKeywords(t, uint64(batch))
		for _, s := range k.types {
			for range objectsPerSchema {
				switch k.try(t, s) {
				case agreedRight:
					right++
				case agreedWrong:
					wrong++
				}
			}
		}
		for keyword, n := range k.used {
			used[keyword] += n
		}
	}
	if total := right + wrong; min(right, wrong) < total/8 {
		t.Errorf("%d right and %d wrong objects: too few to compare", right, wrong)
	}
	for _, keyword := range strings.Fields(`allOf anyOf oneOf not if then else const enum multipleOf minimum maximum exclusiveMinimum exclusiveMaximum
		minLength maxLength pattern format minItems maxItems uniqueItems contains minContains maxContains minProperties maxProperties required
		dependentRequired dependentSchemas patternProperties propertyNames properties items additionalProperties type nullable`) {
		if used[keyword] == 0 {
			t.Errorf("%s was never drawn", keyword)
		}
	}
}

// keywords are drawn schemas, compiled by us and by the library.
type keywords struct {
	drawing
	seed  uint64
	types []*drawnType
	table *schema.Table
	used  map[string]int
}

type drawnType struct {
	name   string
	text   object // as in the document
	oracle *jsonschema.Schema
}

func drawKeywords(t *testing.T, seed uint64) *keywords {
	t.Helper()
	k := &keywords{drawing: drawing{rand: rand.New(rand.NewPCG(seed, 2))}, seed: seed, used: map[string]int{}}
	defs, members := object{}, object{}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat = true
	for i := range drawnSchemas {
		s := &drawnType{name: fmt.Sprintf("Drawn%d", i), text: k.shape(0)}
		k.types = append(k.types, s)
		defs[s.name], members[s.name] = s.text, object{"description": "One of them.", "$ref": "#/$defs/" + s.name}
		text, err := json.Marshal(k.rules(s.text))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(s.name+".json", bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	root := t.TempDir()
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", "shop"))); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(object{"description": "Drawn types.", "properties": members, "type": "object", "$defs": defs})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "schemas", "shop", "v1", "All.yaml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := load.Load(root)
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	k.table = m.GroupVersions[slices.IndexFunc(m.GroupVersions, func(gv *gvModel) bool { return gv.Dir == "shop/v1" })].Table
	for _, s := range k.types {
		if s.oracle, err = compiler.Compile(s.name + ".json"); err != nil {
			t.Fatal(err)
		}
	}
	return k
}

// rules is a drawn schema for the library: nullable has another word there, and a required
// member that is empty counts as missing.
func (k *keywords) rules(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = k.rules(v[i])
		}
		return list
	case object:
		out := object{}
		for key, value := range v {
			k.used[key]++
			switch key {
			case "x-cluster-preserve-unknown-fields", "default", "description":
			case "nullable":
				out["type"] = []any{v["type"], "null"}
			case "type":
				if v["nullable"] == nil {
					out[key] = value
				}
			case "properties":
				members := k.rules(value).(object)
				if v["description"] != nil { // of a shape
					for _, name := range namesIn(v["required"]) {
						if kind := shapeOf(value.(object)[name]); kind != "object" && kind != "" {
							members[name] = object{"allOf": []any{members[name], object{"not": object{"enum": []any{"", []any{}, object{}}}}}}
						}
					}
				}
				out[key] = members
			default:
				out[key] = k.rules(value)
			}
		}
		return out
	}
	return v
}

func namesIn(list any) (names []string) {
	all, _ := list.([]any)
	for _, name := range all {
		names = append(names, name.(string))
	}
	return names
}

// shapeOf is the shape of a drawn schema: its type, "map", or "" for any JSON.
func shapeOf(s any) string {
	o := s.(object)
	if o["type"] == "object" && o["additionalProperties"] != nil {
		return "map"
	}
	kind, _ := o["type"].(string)
	return kind
}

type agreement int

const (
	unread agreement = iota
	agreedRight
	agreedWrong
)

// try draws an object, reads it as the server does, and compares the verdicts.
func (k *keywords) try(t *testing.T, s *drawnType) agreement {
	t.Helper()
	sent := k.object(s.text, 0)
	text, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	doc, _, err := (&document.Decoder{Table: k.table}).Decode(k.table.Root(s.name), text)
	if err != nil {
		return unread
	}
	defer doc.Release()
	stored := doc.Root().AppendJSON(nil)
	causes := document.Validate(doc.Root(), nil)
	var plain any
	decoder := json.NewDecoder(bytes.NewReader(stored))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	plain = shown(plain, sent, s.text)
	if want := s.oracle.Validate(plain); (want == nil) != (causes == nil) {
		rules, _ := json.Marshal(s.text)
		t.Fatalf("seed %d, %s: JSON Schema says %v\nwe say %v\nof %s, stored as %s\nby %s", k.seed, s.name, want, causes, text, stored, rules)
	}
	if causes != nil {
		return agreedWrong
	}
	return agreedRight
}

// shown is the stored value without what stands for nothing: nulls of members that are
// not nullable, and required members that were not sent.
func shown(v, sent any, s object) any {
	was, _ := sent.(object)
	switch shapeOf(s) {
	case "object":
		out := object{}
		for name, member := range v.(object) {
			below := s["properties"].(object)[name].(object)
			missing := slices.Contains(namesIn(s["required"]), name) && was[name] == nil
			if member == nil && below["nullable"] == nil || missing {
				continue
			}
			if out[name] = member; member != nil {
				out[name] = shown(member, was[name], below)
			}
		}
		return out
	case "map":
		out := object{}
		for name, member := range v.(object) {
			out[name] = shown(member, was[name], s["additionalProperties"].(object))
		}
		return out
	case "array":
		list, _ := sent.([]any)
		out := make([]any, len(v.([]any)))
		for i, e := range v.([]any) {
			var was any
			if i < len(list) {
				was = list[i]
			}
			out[i] = shown(e, was, s["items"].(object))
		}
		return out
	}
	return v
}

func sortedNames(o object) []string { return slices.Sorted(maps.Keys(o)) }
