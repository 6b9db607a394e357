package facts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// TestExamplesOfReleases reads objects of testdata/releases/examples.yaml by the documents of a release. The first line
// of each names the release, the group version and the kind; further comments are the mistakes in it.
func TestExamplesOfReleases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "releases", "examples.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]*model.Model{}
	for example := range strings.SplitSeq(string(text), "---\n") {
		var first []string
		var want []string
		for line := range strings.Lines(example) {
			comment, ok := strings.CutPrefix(strings.TrimSpace(line), "# ")
			switch {
			case !ok:
			case first == nil:
				first = strings.Fields(comment)
			default:
				want = append(want, comment)
			}
		}
		release, dir, kind := first[0], first[1], first[2]
		if models[release] == nil {
			if models[release], err = load.At(filepath.Join("..", "..", ".."), release); err != nil {
				t.Fatal(err)
			}
		}
		found := false
		for _, gv := range models[release].GroupVersions {
			if gv.Dir != dir {
				continue
			}
			found = true
			if got := strings.Join(mistakes(t, gv, kind, []byte(example)), "\n"); got != strings.Join(want, "\n") {
				t.Errorf("%s: the mistakes are\n%s\nwant\n%s", strings.Join(first, " "), got, strings.Join(want, "\n"))
			}
		}
		if !found {
			t.Errorf("release %s has no %s", release, dir)
		}
	}
}
