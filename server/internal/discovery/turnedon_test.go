package discovery

import (
	"encoding/json"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/gen/openapi"
)

// TestSecondOfThird: a document of the third version of OpenAPI, rewritten, is what the generator
// has written of the same group version in the second, in each release.
func TestSecondOfThird(t *testing.T) {
	for _, release := range []string{"1.25", "1.31", "1.36"} {
		edition, err := generated.Edition(release)
		if err != nil {
			t.Fatal(err)
		}
		docs, err := edition.Documents(openapi.Documents())
		if err != nil {
			t.Fatal(err)
		}
		for _, inCBOR := range []bool{false, true} {
			if inCBOR {
				docs = allInCBOR([]api.Documents{docs})[0]
			}
			want, compared := unpackedNode(docs.V2.JSON), 0
			for _, doc := range docs.V3 {
				paths, definitions, err := secondOf(doc)
				if err != nil {
					t.Fatal(err)
				}
				for section, members := range map[string]node{"paths": paths, "definitions": definitions} {
					for name, member := range members {
						expected, ok := want[section].(node)[name]
						if !ok {
							continue // of a version that is off
						}
						compared++
						if got, want := textOf(member), textOf(expected); got != want {
							t.Errorf("%s, %s: %s is\n%s\nthe generator has\n%s", release, doc.Path, name, got, want)
						}
					}
				}
			}
			if all := len(want["paths"].(node)) + len(want["definitions"].(node)); compared < all {
				t.Errorf("%s: %d members were compared of %d", release, compared, all)
			}
		}
	}
}

func textOf(v any) string {
	text, _ := json.Marshal(v) // was read from JSON
	return string(text)
}
