package load

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	lateDocument = "description: A thing next to all others.\nproperties:\n  few: {description: How few there are., type: integer, minimum: 5, default: 3}\n"
	lateMistake  = "schemas/shop/v1/Late.yaml:3: the default of few does not fit: Invalid value: 3: must be greater than or equal to 5; change the default or the rule"
)

// numbered is an inner type in a message, whose number depends on the other types.
var numbered = regexp.MustCompile(`#[0-9]+`)

// Any mistake is reported together with one of a late step that has nothing to do with it, and nothing more is said.
func TestMistakesDoNotHideOthers(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join(testdata, "wrong"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		dir := filepath.Join(testdata, "wrong", folder.Name())
		text, err := os.ReadFile(filepath.Join(dir, "want.txt"))
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(text)), "\n")
		if !strings.HasPrefix(folder.Name(), "profile-") { // without which nothing can be read
			want = append(want, lateMistake)
		}
		slices.Sort(want)
		root := project(t, dir)
		writeFiles(t, root, map[string]string{"schemas/shop/v1/Late.yaml": lateDocument})
		if _, err = Load(root); err == nil {
			t.Fatal("no mistake was found")
		}
		got := strings.Split(numbered.ReplaceAllString(err.Error(), "#7"), "\n")
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", folder.Name(), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
