package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// storeWriters are the files that call the store's transactions, and why. Every other change
// of an object is an objects.Write.
var storeWriters = map[string]string{
	"server/internal/objects/write.go":               "the one way of changes",
	"server/internal/objects/charge.go":              "its transaction with resource quotas",
	"server/internal/objects/discard.go":             "removes a record that cannot be opened, so that there is nothing to evaluate",
	"server/internal/operate/migrate.go":             "changes the form of an object and not what it says, also in a store without a server",
	"server/internal/kinds/addresses/allocations.go": "a store around another one",
	"server/internal/stored/current.go":              "a store around another one",
	"server/internal/stored/traced.go":               "a store around another one",
	"server/internal/stored/forms.go":                "the records about forms, which are no objects",
	"server/internal/stored/versions.go":             "the record about versions, which is no object",
	"server/server.go":                               "the secret of page tokens, which is no object",
}

var storeWrite = regexp.MustCompile(`\b[sS]tore\.Update(All)?\(|\.Update(All)?\(.*\*store\.Entry`)

// Objects change in one way only: nobody else calls the store's transactions.
func TestObjectsChangeInOneWay(t *testing.T) {
	found := map[string]bool{}
	goFiles(t, func(path string) {
		if strings.HasSuffix(path, "_test.go") || below(path, "internal/store") || below(path, "internal/storetest") || below(path, "server/internal/harness") {
			return
		}
		b, err := os.ReadFile(filepath.Join("..", "..", path))
		if err != nil {
			t.Error(err)
			return
		}
		if at := storeWrite.FindString(string(b)); at != "" {
			if found[path] = true; storeWriters[path] == "" {
				t.Errorf("%s changes the store by %q: make it an objects.Write", path, at)
			}
		}
	})
	for path, why := range storeWriters {
		if !found[path] {
			t.Errorf("%s (%s) does not write to the store any more: remove it from the list", path, why)
		}
	}
}
