package api

import (
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

func TestConditionSet(t *testing.T) {
	tests := map[string]struct {
		before, after string
		set           Condition
	}{
		"new":              {`[]`, `[{"type":"Ready","status":"True","lastTransitionTime":"now","reason":"Up","message":"is up"}]`, Condition{"Ready", "True", "Up", "is up"}},
		"among others":     {`[{"type":"A"},{"type":"B"}]`, `[{"type":"A"},{"type":"B","status":"False","lastTransitionTime":"now"}]`, Condition{Type: "B", Status: "False"}},
		"the same status":  {`[{"type":"A","status":"True","lastTransitionTime":"then","reason":"X"}]`, `[{"type":"A","status":"True","lastTransitionTime":"then","reason":"Y"}]`, Condition{"A", "True", "Y", ""}},
		"a changed status": {`[{"type":"A","status":"True","lastTransitionTime":"then","message":"m"}]`, `[{"type":"A","status":"False","lastTransitionTime":"now"}]`, Condition{Type: "A", Status: "False"}},
	}
	for name, tt := range tests {
		doc, err := document.DecodeAny([]byte(`{"conditions":`+tt.before+`}`), document.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		list := doc.Root().SetArray("conditions")
		entry := tt.set.Set(list, "now")
		if got := string(list.AppendJSON(nil)); got != tt.after || !entry.Get("type").Equals(tt.set.Type) {
			t.Errorf("%s: %s, want %s", name, got, tt.after)
		}
	}
}
