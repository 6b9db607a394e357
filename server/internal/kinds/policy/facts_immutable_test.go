package policy_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// other is a value like v with another first leaf. Lists and objects are changed in
// place. Nil when v has no leaf.
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

// named is 1.25's name for the immutable part of a kind, where that is not its path.
var named = map[string]string{"PersistentVolume": "spec.persistentvolumesource", "CSINode": "CSINodeDriver", "CSIDriver": "spec.attachedRequired"}

// Reasons why facts of immutability are skipped.
const (
	inPart      = "they say what may change, or what may change when"
	noSuchValue = "the examples have no such value"
)

// skippedImmutabilities are the facts of immutability that no example tries.
var skippedImmutabilities = skips{
	elsewhere:   11,
	inPart:      66,
	notOfChange: 5,
	noSuchValue: 21,
}

// TestFactsOfImmutability changes each immutable field in the examples, as an update
// would.
func TestFactsOfImmutability(t *testing.T) {
	resources, known, skipped := storedKinds(), examples{}, skips{}
	for _, r := range harness.FactTable(t, "../../../../generator/internal/facts/testdata/immutable.tsv") {
		res := resources[r["gv"]+"."+r["kind"]]
		switch {
		case res == nil:
			skipped.add(t, elsewhere, r)
			continue
		case r["rule"] != "immutable":
			skipped.add(t, inPart, r)
			continue
		case r["condition"] != "-" && r["condition"] != "immutable=true":
			skipped.add(t, notOfChange, r)
			continue
		}
		r["path"] = plainPath(r["path"])
		tried := false
		for _, example := range known.of(t, res) {
			text, old := changed(t, r, example)
			if text == nil {
				continue
			}
			tried = true
			got := refusals(res, text, old)
			if !slices.ContainsFunc(got, func(field string) bool {
				return field == r["path"] || field == "*" || field == named[r["kind"]] || strings.HasPrefix(r["path"], field) || strings.HasPrefix(field, r["path"])
			}) {
				t.Errorf("%v: refused %v", r, got)
			}
		}
		if !tried {
			skipped.add(t, noSuchValue, r)
		}
	}
	skipped.compare(t, skippedImmutabilities)
}

// changed is an example with another value at the path of a fact, and the original, under
// the condition of the fact; nil when it has no value there.
func changed(t *testing.T, r harness.FactRow, example []byte) (text, old []byte) {
	t.Helper()
	var root map[string]any
	if err := json.Unmarshal(example, &root); err != nil {
		t.Fatal(err)
	}
	if r["condition"] == "immutable=true" {
		root["immutable"] = true
		example, _ = json.Marshal(root)
	}
	at := find(root, r["path"], 0)
	value := other(at.value)
	if at.made || value == nil {
		return nil, nil
	}
	at.set(value)
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return text, example
}
