package definitions

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

func anyTree(t testing.TB, text string) document.Value {
	t.Helper()
	doc, err := document.DecodeAny([]byte(text), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(doc.Release)
	return doc.Root()
}

// tenComparisons is a rule of ten comparisons about a spec of so many fields.
func tenComparisons(fields int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","properties":{"spec":{"type":"object","x-kubernetes-validations":[{"rule":"`)
	for i := range 10 {
		if i > 0 {
			b.WriteString(" && ")
		}
		fmt.Fprintf(&b, "self.field%d < %d", i*fields/10, i+1000)
	}
	b.WriteString(`"}],"properties":{`)
	for i := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"field%d":{"type":"integer"}`, i)
	}
	b.WriteString(`}}}}`)
	return b.String()
}

// BenchmarkRules measures the check of a new object by a rule of ten comparisons, with the
// types of a schema of 200 fields.
func BenchmarkRules(b *testing.B) {
	s := tenComparisons(200)
	rules := newRuleset(anyTree(b, s), nil)
	table := meta(b).Compile("shop.example.com", "v1", anyTree(b, s), false)
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, `,"field%d":%d`, i, i)
	}
	body := []byte(`{"apiVersion":"shop.example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{` + text.String()[1:] + `}}`)
	doc, err := document.ReadTyped(table, 0, body)
	if err != nil {
		b.Fatal(err)
	}
	for _, unbounded := range []bool{false, true} {
		b.Run(map[bool]string{false: "bounded", true: "counting"}[unbounded], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if broken := rules.Check(context.Background(), doc.Root(), document.Value{}, unbounded); len(broken.Causes) > 0 {
					b.Fatal(broken.Causes)
				}
			}
		})
	}
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		definition := anyTree(b, s)
		for b.Loop() {
			newRuleset(definition, nil)
		}
	})
}

// FuzzRules judges any schema with rules, and evaluates the accepted ones for any object,
// in bounded time and without a panic.
func FuzzRules(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","x-kubernetes-validations":[{"rule":"self.metadata.name != 'x'"}],"properties":{"a":{"type":"array","maxItems":9,"items":{"type":"integer","x-kubernetes-validations":[{"rule":"self > 1"}]}}}}`,
		`{"type":"object","properties":{"a":{"type":"object","additionalProperties":{"type":"string","maxLength":5,"x-kubernetes-validations":[{"rule":"self == oldSelf","message":"is fixed"}]}}}}`,
		`{"type":"object","properties":{"a":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"maxItems":5,"items":{"type":"object","required":["k"],"x-kubernetes-validations":[{"rule":"self.k == oldSelf.orValue(self).k","optionalOldSelf":true,"fieldPath":".k","messageExpression":"self.k","reason":"FieldValueForbidden"}],"properties":{"k":{"type":"string"}}}}}}`,
		`{"type":"object","properties":{"a":{"x-kubernetes-int-or-string":true,"default":1,"x-kubernetes-validations":[{"rule":"type(self) == int ? self > 0 : self != ''"}]}}}`,
		tenComparisons(10),
	} {
		f.Add(s, `{"metadata":{"name":"x"},"a":[1,2]}`, `{"metadata":{"name":"x"},"a":{"b":"c"}}`)
		f.Add(s, `{"metadata":null,"a":[{"k":"x"},{"k":null},3]}`, `{"a":[{"k":"x"},{"k":"x"}]}`)
	}
	f.Fuzz(func(t *testing.T, s, obj, old string) {
		if len(s)+len(obj)+len(old) > 1<<14 {
			return
		}
		var values [3]document.Value
		for i, text := range [...]string{`{"openAPIV3Schema":` + s + `}`, obj, old} {
			doc, err := document.DecodeAny([]byte(text), document.Limits{})
			if err != nil {
				return
			}
			defer doc.Release()
			values[i] = doc.Root()
		}
		begin := time.Now()
		var c causes
		c.definitionSchema(values[0], &fieldPath{step: "schema"}, false, func() bool { return false })
		if took := time.Since(begin); took > 10*time.Second {
			t.Fatalf("judging took %v", took)
		}
		if len(c.Causes) > 0 {
			return
		}
		rules := newRuleset(values[0].Get("openAPIV3Schema"), nil)
		begin = time.Now()
		for _, was := range [...]document.Value{{}, values[2]} {
			rules.Check(context.Background(), values[1], was, true)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Fatalf("evaluating took %v", took)
		}
	})
}

// A thousand definitions with rules cost nothing before they are used.
func TestRulesAreCompiledLate(t *testing.T) {
	text := []byte(`{"metadata":{"name":"w"},"spec":{"group":"shop.example.com","versions":[{"name":"v1","schema":{"openAPIV3Schema":` + tenComparisons(20) + `}}]},"status":{}}`)
	rows := (&Rows{}).Of(Pack(text), [32]byte{})
	if len(rows) != 1 || rows[0].Definition.Rules == nil {
		t.Fatalf("%d rows", len(rows))
	}
	if n := testing.AllocsPerRun(5, func() { (&Rows{}).Of(Pack(text), [32]byte{}) }); n > 200 {
		t.Errorf("the rows of a definition take %v allocations", n)
	}
	if rows := (&Rows{}).Of(Pack([]byte(strings.ReplaceAll(string(text), "x-kubernetes-validations", "x-none"))), [32]byte{}); rows[0].Definition.Rules != nil {
		t.Error("a definition without rules has rules")
	}
	broken := rows[0].Definition.Rules().Check(context.Background(), anyTree(t, `{"spec":{"field0":5000}}`), document.Value{}, false)
	if len(broken.Causes) != 1 || broken.Causes[0].Reason != schema.CauseInvalid {
		t.Errorf("%v", broken)
	}
}
