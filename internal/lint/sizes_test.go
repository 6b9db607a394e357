package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// The aims are a longest file of 400 lines of 160 columns, a longest function of 60, and 15 files in
// server. A figure above them may shrink and not grow: a bound that is higher than needed
// by more than slack fails too.
const (
	longestFile                    = 400
	longestLine                    = 160
	longestFunction, functionSlack = 60, 5
	serverFiles, serverSlack       = 10, 2
)

// longFunctions are the functions above the aim, with their bounds in lines and the
// reason. Tests have no aim: most of them are a table.
var longFunctions = map[string]struct {
	lines int
	why   string
}{
	"internal/apply/applied.go: applyOnce":             {61, "the steps of an apply in their order"},
	"internal/apply/merge.go: mergeItems":              {66, "one walk over two lists, with what it remembers"},
	"internal/codec/binary_value.go: wrapped":          {63, "a case for each form of a value"},
	"internal/codec/binary_write_value.go: message":    {62, "a case for each form of a value"},
	"tools/differ/gen/enrich.go: make":                 {66, "a case for each type of a schema"},
	"internal/document/stored.go: object":              {65, "the inner loop of reads: a call per member would be seen in the figures"},
	"internal/document/stored.go: value":               {62, "the inner loop of reads: a call per member would be seen in the figures"},
	"internal/patch/item.go: merge":                    {72, "one walk over two lists, with what it remembers"},
	"internal/storetest/concurrent.go: testConcurrent": {67, "a test"},
	"internal/yaml/scanner.go: fetch":                  {61, "a case for each character that begins a token"},
	"server/open.go: open":                             {137, "the rooms of a server in the order in which they depend on each other"},
}

// handwritten reports whether a file is maintained by hand.
func handwritten(path string) bool {
	return !strings.HasPrefix(path, "gen/") && !strings.HasPrefix(path, "internal/gen/")
}

// checkBound reports a figure above its bound, and a bound that is needlessly high.
func checkBound(what string, figure, bound, slack int) string {
	switch {
	case figure > bound:
		return fmt.Sprintf("%s: %d, the bound is %d", what, figure, bound)
	case figure < bound-slack:
		return fmt.Sprintf("%s: %d, the bound is %d: lower it", what, figure, bound)
	}
	return ""
}

func TestFilesAreShort(t *testing.T) {
	goFiles(t, func(name string) {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Error(err)
			return
		}
		if lines := strings.Count(string(text), "\n"); handwritten(name) && lines > longestFile {
			t.Errorf("%s has %d lines, the limit is %d: split it by noun", name, lines, longestFile)
		}
	})
}

// TestLinesAreShort: a line is longer than the limit only where one text takes half of it.
func TestLinesAreShort(t *testing.T) {
	goFiles(t, func(name string) {
		if !handwritten(name) || strings.HasSuffix(name, "_test.go") {
			return
		}
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Error(err)
			return
		}
		texts := longTexts(text)
		for i, line := range strings.Split(string(text), "\n") {
			if utf8.RuneCountInString(line) > longestLine && !texts[i+1] {
				t.Errorf("%s:%d has %d columns, the limit is %d: break it", name, i+1, utf8.RuneCountInString(line), longestLine)
			}
		}
	})
}

// longTexts finds the lines of Go source on which a text begins, ends or goes on that has at
// least half of the longest line.
func longTexts(source []byte) map[int]bool {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		pos, kind, text := s.Scan()
		if kind == token.EOF {
			return lines
		}
		if first := file.Line(pos); kind == token.STRING && len(text) >= longestLine/2 {
			for i := range strings.Count(text, "\n") + 1 {
				lines[first+i] = true
			}
		}
	}
}

func TestFunctionsAreShort(t *testing.T) {
	seen := map[string]bool{}
	goFiles(t, func(name string) {
		if !handwritten(name) || strings.HasSuffix(name, "_test.go") {
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join("..", "..", name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			return
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			lines := files.Position(f.End()).Line - files.Position(f.Pos()).Line + 1
			if lines <= longestFunction {
				continue
			}
			key := name + ": " + f.Name.Name
			bound, known := longFunctions[key]
			if seen[key] = known; !known {
				t.Errorf("%s has %d lines, the limit is %d: split it, or give the reason in longFunctions", key, lines, longestFunction)
			} else if m := checkBound(key+", lines", lines, bound.lines, functionSlack); m != "" {
				t.Error(m)
			}
		}
	})
	for _, key := range slices.Sorted(maps.Keys(longFunctions)) {
		if !seen[key] {
			t.Errorf("%s is not longer than %d lines: remove it from longFunctions", key, longestFunction)
		}
	}
}

func TestServerHasFewFiles(t *testing.T) {
	n := 0
	goFiles(t, func(name string) {
		if path.Dir(name) == "server" && !strings.HasSuffix(name, "_test.go") {
			n++
		}
	})
	if m := checkBound("files in server that are not tests", n, serverFiles, serverSlack); m != "" {
		t.Error(m)
	}
}

func TestCheckBound(t *testing.T) {
	for _, tt := range []struct {
		figure int
		ok     bool
	}{{100, true}, {101, false}, {90, true}, {89, false}} {
		if got := checkBound("x", tt.figure, 100, 10); (got == "") != tt.ok {
			t.Errorf("%d under a bound of 100: %q", tt.figure, got)
		}
	}
}
