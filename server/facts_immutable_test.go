package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// other is a value like v that is not v: the first leaf of it is another. Lists
// and objects are changed in place. Nil when there is nothing to change.
func other(v any) any {
	switch x := v.(type) {
	case string:
		return x + "x"
	case float64:
		return x + 1
	case bool:
		return !x
	case []any:
		if len(x) == 0 {
			return nil
		}
		if x[0] = other(x[0]); x[0] == nil {
			return nil
		}
		return x
	case map[string]any:
		for name, member := range x {
			if changed := other(member); changed != nil {
				x[name] = changed
				return x
			}
		}
	}
	return nil
}

// named is what 1.25 calls the part of a kind that cannot be changed, where that is
// not its path.
var named = map[string]string{"PersistentVolume": "spec.persistentvolumesource", "CSINode": "CSINodeDriver", "CSIDriver": "spec.attachedRequired"}

// TestFactsOfImmutability changes each field that is said to be immutable in the
// examples, as an update would.
func TestFactsOfImmutability(t *testing.T) {
	resources, known := storedKinds(), examples{}
	held, skipped := 0, 0
	for _, r := range factTable(t, "../internal/facts/testdata/immutable.tsv") {
		res := resources[r["gv"]+"."+r["kind"]]
		if res == nil || r["rule"] != "immutable" {
			continue
		}
		r["path"] = plainPath(r["path"])
		tried := false
		for _, example := range known.of(t, res) {
			var root map[string]any
			if err := json.Unmarshal(example, &root); err != nil {
				t.Fatal(err)
			}
			if r["condition"] == "immutable=true" {
				root["immutable"] = true
				example, _ = json.Marshal(root)
			} else if r["condition"] != "-" {
				continue
			}
			at := find(root, r["path"], 0)
			changed := other(at.value)
			if at.made || changed == nil {
				continue
			}
			at.set(changed)
			text, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			tried = true
			got := refusals(res, text, example)
			if !slices.ContainsFunc(got, func(field string) bool {
				return field == r["path"] || field == "*" || field == named[r["kind"]] || strings.HasPrefix(r["path"], field) || strings.HasPrefix(field, r["path"])
			}) {
				t.Errorf("%v: refused %v", r, got)
			}
		}
		if tried {
			held++
		} else {
			skipped++
			if testing.Verbose() {
				t.Log("UNTRIED", r)
			}
		}
	}
	t.Logf("%d facts hold; %d could not be tried on the examples", held, skipped)
}
