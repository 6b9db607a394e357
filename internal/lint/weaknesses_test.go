package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	weakness     = regexp.MustCompile(`^CVE-20\d\d-\d{4,7}(, CVE-20\d\d-\d{4,7})*$`)
	evidence     = regexp.MustCompile("^`([^`]+)`( v?[0-9.]+)?$")
	requirement  = regexp.MustCompile(`(?m)^\s*(?:require )?([\w./-]+) (v?\d+\.\d+\.\d+)`)
)

// testNames are the names of all tests and fuzz targets.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	goFiles(t, func(name string) {
		if !strings.HasSuffix(name, "_test.go") {
			return
		}
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
	})
	return names
}

// checkWeaknesses reports mistakes in the rows of a table of weaknesses: columns, tests
// that do not exist, and libraries that are older than a row needs them to be.
func checkWeaknesses(table string, tests map[string]bool, libraries map[string]string) (rows int, mistakes []string) {
	seen := map[string]bool{}
	wrong := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "| CVE-") {
			continue
		}
		rows++
		columns := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		for i := range columns {
			columns[i] = strings.TrimSpace(columns[i])
		}
		if len(columns) != 4 || !weakness.MatchString(columns[0]) || columns[1] == "" || columns[2] == "" {
			wrong("%s: not a list of weaknesses, a subject, a rule and its tests", line)
			continue
		}
		for id := range strings.SplitSeq(columns[0], ", ") {
			if seen[id] {
				wrong("%s has two rows", id)
			}
			seen[id] = true
		}
		for one := range strings.SplitSeq(columns[3], ", ") {
			m := evidence.FindStringSubmatch(one)
			switch {
			case one == "" && columns[3] == "":
			case m == nil:
				wrong("%s: %q is neither a test nor a version of a library", columns[0], one)
			case m[2] == "" && !tests[m[1]]:
				wrong("%s: there is no test %s", columns[0], m[1])
			case m[2] != "" && !atLeast(libraries[m[1]], strings.TrimSpace(m[2])):
				wrong("%s: needs %s%s, go.mod has %q", columns[0], m[1], m[2], libraries[m[1]])
			}
		}
	}
	return rows, mistakes
}

// atLeast reports whether a version is not older than another one: "v1.2.3".
func atLeast(version, least string) bool {
	a, b := strings.Split(strings.TrimPrefix(version, "v"), "."), strings.Split(strings.TrimPrefix(least, "v"), ".")
	for i := range b {
		if i >= len(a) {
			return false
		}
		x, err := strconv.Atoi(a[i])
		y, errLeast := strconv.Atoi(b[i])
		if err != nil || errLeast != nil {
			return false
		}
		if x != y {
			return x > y
		}
	}
	return true
}

// TestWeaknessesHaveTests: each test and library in the list of published weaknesses is there.
func TestWeaknessesHaveTests(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	libraries := map[string]string{}
	for _, m := range requirement.FindAllStringSubmatch(read("go.mod"), -1) {
		libraries[m[1]] = m[2]
	}
	rows, mistakes := checkWeaknesses(read("SECURITY.md"), testNames(t), libraries)
	for _, m := range mistakes {
		t.Error("SECURITY.md: " + m)
	}
	if rows < 50 {
		t.Errorf("SECURITY.md has %d weaknesses", rows)
	}
	table := "| CVE-2020-1000 | a | b | `TestGone` |\n| CVE-2020-1000 | a | b |  |\n| CVE-2020-1 | a | b |  |\n| CVE-2020-1001 | a |  |  |\n" +
		"| CVE-2020-1002 | a | b | `x` v1.3.0 |\n| CVE-2020-1003 | a | b | `x` v1.2.0 |\n| CVE-2020-1004 | a | b | TestBare |\n| CVE-2020-1005 | a | b | `TestThere` |\n"
	rows, mistakes = checkWeaknesses(table, map[string]bool{"TestThere": true}, map[string]string{"x": "v1.2.9"})
	if rows != 8 || len(mistakes) != 6 {
		t.Errorf("%d rows: %q", rows, mistakes)
	}
}
