package lint

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hardWords are patterns of comments that a newcomer has to read twice, with what to write
// instead. The number of comments that match may shrink and not grow.
var hardWords = []struct {
	name    string
	pattern *regexp.Regexp
	instead string
	bound   int
}{
	{"a question as the subject", regexp.MustCompile(`^(What|Who|Whoever|Whom|Whose)\b|^\S+ (is|are) (what|who|whom|whose|whoever)\b`), "begin with a noun of the field (GLOSSARY.md)", 5},
	{"what is, who is", regexp.MustCompile(`\b([Ww]hat|[Ww]ho) (is|are|was|were)\b`), "name the thing", 10},
	{"whoever", regexp.MustCompile(`\b[Ww]hoever\b`), "name the caller, the user, the goroutine", 4},
	{"told", regexp.MustCompile(`\btold\b`), "gets, knows, reports, is logged", 6},
	{"beside", regexp.MustCompile(`\b[Bb]eside\b`), "while, next to, in addition to", 4},
	{"is no X", regexp.MustCompile(`\b(is|are|was|were) no [a-z]+`), "is not a", 5},
}

// plainUses are parts of comments that the patterns would match by mistake.
var plainUses = regexp.MustCompile(`\b[Tt]here (is|are|was|were) no\b|\b(is|are|was|were) no (longer|more)\b|"[^"]*"`)

// hardWordsSlack is how far a bound may be above its count.
const hardWordsSlack = 10

func TestCommentsAreUnderstood(t *testing.T) {
	found := make([][]string, len(hardWords))
	goFiles(t, func(name string) {
		if !handwritten(name) || name == "internal/lint/words_test.go" {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join("..", "..", name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, c := range file.Comments {
			text := plainUses.ReplaceAllString(strings.Join(strings.Fields(c.Text()), " "), "")
			for i, w := range hardWords {
				if w.pattern.MatchString(text) {
					found[i] = append(found[i], fmt.Sprintf("%s:%d", name, files.Position(c.Pos()).Line))
				}
			}
		}
	})
	for i, w := range hardWords {
		if m := checkBound(fmt.Sprintf("comments with %q (better: %s)", w.name, w.instead), len(found[i]), w.bound, hardWordsSlack); m != "" {
			t.Errorf("%s; among them %s", m, strings.Join(found[i][:min(len(found[i]), 500)], " "))
		}
	}
}
