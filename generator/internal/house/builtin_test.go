package house

import (
	"slices"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/load"
)

// proven are the rules that judge documents by values, or by names and paths, rather than by style.
var proven = []string{"branch-twice", "enum-refused", "no-number", "no-value", "required-read-only", "rule-at", "rule-contradiction", "rule-cost", "rule-idle",
	"rule-message", "rule-value", "schema-dead", "schema-idle", "version-priority", "version-values"}

// asIn125 are rules that built-in documents break, as 1.25 does: causes that name no member, lists without a bound, versions that only the stored one limits.
var asIn125 = []string{"rule-at", "rule-cost", "version-values"}

// The built-in documents, which recordings and servers have tried, have none of the mistakes that make an API unusable.
func TestBuiltInDocumentsAreUsable(t *testing.T) {
	m, err := load.Load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	m.Module = "example.com/as-if-their-own"
	for _, f := range Check(m) {
		if slices.Contains(proven, f.Rule) && !slices.Contains(asIn125, f.Rule) {
			t.Error(f)
		}
	}
}
