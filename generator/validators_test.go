package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// judge has the three opinions on objects of a kind: that of the generated
// table, that of the table compiled at run time, and that of a JSON Schema
// library that reads the documents.
type judge struct {
	name                string
	generated, compiled *schema.Table
	typ                 *model.Type
	oracle              *jsonschema.Schema
	draw                drawing
}

// judges are those of all types that have a document, in order.
func judges(t testing.TB) []*judge {
	t.Helper()
	all, err := compileJudges()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// compileJudges takes seconds, so it is done once.
var compileJudges = sync.OnceValues(func() ([]*judge, error) {
	m, err := load.Load("..")
	if err != nil {
		return nil, err
	}
	o := newOracle(m)
	compiler := jsonschema.NewCompiler()
	compiler.Draft = jsonschema.Draft2019 // 2020 searches all schemas for dynamic anchors at each reference; there are none
	compiler.AssertFormat = true
	compiler.RegisterExtension("uniqueKeys", nil, uniqueKeys{})
	text, err := json.Marshal(map[string]any{"$defs": o.defs})
	if err != nil {
		return nil, err
	}
	if err := compiler.AddResource("documents.json", bytes.NewReader(text)); err != nil {
		return nil, err
	}
	var all []*judge
	for _, gv := range m.GroupVersions {
		for _, typ := range gv.Types {
			if !typ.Root || len(typ.Schema.Properties) == 0 {
				continue
			}
			s, err := compiler.Compile("documents.json#/$defs/" + pointer(typ.ID))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", typ.ID, err)
			}
			all = append(all, &judge{typ.ID, sayable(tables[gv.Dir]), sayable(gv.Table), typ, s, drawing{o: o}})
		}
	}
	return all, nil
})

// verdict is the result of a table: nil when the object is right.
func verdict(table *schema.Table, name string, text []byte) []string {
	doc, _, err := (&document.Decoder{Table: table}).Decode(table.Root(name), text)
	if err != nil {
		return []string{err.Error()}
	}
	defer doc.Release()
	var out []string
	for _, c := range document.Validate(doc.Root(), nil) {
		out = append(out, fmt.Sprint(c))
	}
	return out
}

// try draws an object and reports whether it is right.
func (j *judge) try(t testing.TB, seed uint64) bool {
	t.Helper()
	d := j.draw
	d.rand = rand.New(rand.NewPCG(seed, 1))
	d.often = []int{5, 20, 50}[d.rand.IntN(3)]
	d.wrong = []int{0, 0, 200, 30}[d.rand.IntN(4)]
	object := d.value(j.typ.Schema, j.typ.GV.Dir, 0)
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	var plain any // as a reader of JSON has it
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&plain); err != nil {
		t.Fatal(err)
	}
	j.draw.o.fill(plain, j.typ.Schema, j.typ.GV.Dir)
	want := j.oracle.Validate(plain)
	generated := verdict(j.generated, j.typ.Name, text)
	if compiled := verdict(j.compiled, j.typ.Name, text); !slices.Equal(compiled, generated) {
		t.Fatalf("%s, seed %d: compiled at run time %v, generated %v\n%s", j.name, seed, compiled, generated, text)
	}
	if (want == nil) != (generated == nil) {
		t.Fatalf("%s, seed %d: JSON Schema says %v\nwe say %v\n%s", j.name, seed, want, generated, text)
	}
	return want == nil
}

// Thousands of objects of all kinds, right ones and wrong ones; CAPSTAN_OBJECTS sets
// another number.
func TestValidatorsAgree(t *testing.T) {
	objects := drawnObjects(t, 8000)
	all, right := judges(t), 0
	for i := range objects {
		if all[i%len(all)].try(t, uint64(i/len(all))) {
			right++
		}
	}
	if wrong := objects - right; min(right, wrong) < objects/10 {
		t.Errorf("%d right and %d wrong objects: too few to compare", right, wrong)
	}
}

// drawnObjects is the number of objects of a test, or that in CAPSTAN_OBJECTS.
func drawnObjects(t *testing.T, usual int) int {
	t.Helper()
	text := os.Getenv("CAPSTAN_OBJECTS")
	if text == "" {
		return usual
	}
	objects, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// FuzzValidators searches for an object that the draw of the test does not make.
func FuzzValidators(f *testing.F) {
	all := judges(f)
	f.Add(uint16(0), uint64(0))
	f.Fuzz(func(t *testing.T, kind uint16, seed uint64) { all[int(kind)%len(all)].try(t, seed) })
}
