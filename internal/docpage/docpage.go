// Package docpage is for tests: it holds pages of the documentation to the code that they describe.
package docpage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update is the variable in the environment that has tests write the pages.
const update = "CAPSTAN_UPDATE"

// Root is the folder of the repository, from the folder of a test.
func Root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	for err == nil && dir != filepath.Dir(dir) {
		if _, missing := os.Stat(filepath.Join(dir, "docs", "README.md")); missing == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("no folder around the test has docs/README.md (%v)", err)
	return ""
}

// Read returns a page, by its path in the repository.
func Read(t testing.TB, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Root(t), filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Compare compares a page with the text that the code makes of itself, or writes it.
func Compare(t testing.TB, page, text string) {
	t.Helper()
	if os.Getenv(update) != "" {
		if err := os.WriteFile(filepath.Join(Root(t), filepath.FromSlash(page)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, want := strings.Split(Read(t, page), "\n"), strings.Split(text, "\n")
	for i := range want {
		if i >= len(have) || have[i] != want[i] {
			t.Errorf("%s:%d is not what the code says, %q; run make reference", page, i+1, want[i])
			return
		}
	}
	if len(have) > len(want) {
		t.Errorf("%s:%d: the code says nothing of it; run make reference", page, len(want)+1)
	}
}

// Complete reports names that the code has and a page does not mention in code (`name`).
func Complete(t testing.TB, page string, names []string) {
	t.Helper()
	text := Read(t, page)
	for _, name := range names {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("%s lacks `%s`; add it, with its meaning and what to do", page, name)
		}
	}
}

// Cell is a text for a cell of a table in Markdown.
func Cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", `\<`, "*", `\*`, "_", `\_`).Replace(strings.TrimSpace(text))
}
