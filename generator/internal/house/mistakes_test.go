package house

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/load"
)

const (
	harbour = "testdata/harbour"
	ship    = "schemas/harbour/v1beta1/Ship.yaml"
	newShip = "schemas/harbour/v1/Ship.yaml"
	beta    = "openapi/harbour/v1beta1.yaml"
	stable  = "openapi/harbour/v1.yaml"
)

// mistake is a change of the documents that makes them wrong, with the next change that is right.
type mistake struct {
	name, file, old string
	wrong           string
	right           string // "" for the document as it is
	want            string // a rule, or words of the message
}

// placed is the place and the remedy of a message.
var placed = regexp.MustCompile(`^(openapi|schemas)/[^:]+:[1-9][0-9]*: .+; .+`)

// judged are the findings in the documents of the harbour with a change.
func judged(t *testing.T, file, old, text string) []string {
	t.Helper()
	files := map[string][]byte{}
	if file != "" {
		was, err := os.ReadFile(harbour + "/" + file)
		if err != nil && old != "" || !strings.Contains(string(was), old) {
			t.Fatalf("%s does not hold %q", file, old)
		}
		files[file] = []byte(strings.Replace(string(was), old, text, 1))
		if old == "" {
			files[file] = []byte(text)
		}
	}
	m, err := load.With(harbour, files)
	if err != nil {
		return strings.Split(err.Error(), "\n")
	}
	var found []string
	for _, f := range Check(m) {
		found = append(found, f.String())
	}
	return found
}

func TestHarbourHasNoMistakes(t *testing.T) {
	if found := judged(t, "", "", ""); found != nil {
		t.Error(found)
	}
}

// Each mistake is refused, or lint names it, with its place and the remedy. The nearest right change is not
// mentioned.
func TestMistakes(t *testing.T) {
	var silent atomic.Int32
	t.Cleanup(func() { t.Logf("%d silent", silent.Load()) })
	for _, m := range slices.Concat(mistakesOfValues, mistakesOfRules, mistakesOfNames, mistakesOfForms) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			found := judged(t, m.file, m.old, m.wrong)
			if len(found) == 0 {
				silent.Add(1)
			}
			if !slices.ContainsFunc(found, func(text string) bool { return placed.MatchString(text) && strings.Contains(text, m.want) }) {
				t.Errorf("%q, want %q", found, m.want)
			}
			if m.right != "" {
				if found := judged(t, m.file, m.old, m.right); found != nil {
					t.Errorf("an alarm: %q", found)
				}
			}
		})
	}
}

// A field that can have no value is named once, and not all types that require it.
func TestNoValueIsNamedOnce(t *testing.T) {
	const required = "        description: Who decides.\n        type: string\n        maxLength: 80\n        pattern: ^.{81,}$\n"
	text, err := os.ReadFile(harbour + "/" + ship)
	if err != nil {
		t.Fatal(err)
	}
	needs := strings.Replace(string(text), "    required: [", "    required: [captain, ", 1)
	needs = strings.Replace(needs, captain, required, 1)
	found := judged(t, ship, string(text), needs)
	if len(found) != 1 || !strings.Contains(found[0], ".captain can have no value") {
		t.Errorf("found are %q", found)
	}
}
