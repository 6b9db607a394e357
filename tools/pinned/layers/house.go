package main

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const module = "github.com/capstan-dev/capstan/"

// house is the content of the picture.
type house struct {
	rooms  [][]string // the packages of each group, as the box shows them
	arrows [][2]int   // from the group that imports to the imported one, without those that follow from others
}

var quoted = regexp.MustCompile("`([^`]+)`")

// readHouse reads the rows and the imports. Errors name a package without a group, and groups
// that import each other.
func readHouse(root string) (*house, error) {
	text, err := os.ReadFile(filepath.Join(root, "internal", "lint", "layers.txt"))
	if err != nil {
		return nil, err
	}
	h, mistakes := &house{rooms: make([][]string, len(groups))}, []error(nil)
	for line := range strings.Lines(string(text)) {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for _, m := range quoted.FindAllStringSubmatch(first, -1) {
			if strings.HasPrefix(line, "#") || matches(notDrawn, m[1]) {
				continue
			}
			at := groupOf(m[1])
			if at < 0 {
				mistakes = append(mistakes, fmt.Errorf("%s is in none of the groups: add it to one in tools/pinned/layers", m[1]))
				continue
			}
			h.rooms[at] = append(h.rooms[at], m[1])
		}
	}
	for i, g := range groups {
		slices.SortStableFunc(h.rooms[i], func(a, b string) int { return place(g.packages, a) - place(g.packages, b) })
		for _, p := range g.packages {
			if !slices.ContainsFunc(h.rooms[i], func(room string) bool { ok, _ := path.Match(p, room); return ok }) {
				mistakes = append(mistakes, fmt.Errorf("the group %s names %s, which has no row", g.name, p))
			}
		}
	}
	imports, err := groupImports(root)
	if err != nil {
		return nil, err
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return h, h.reduce(imports)
}

func matches(patterns []string, pkg string) bool { return place(patterns, pkg) < len(patterns) }

// place returns the position of the first pattern that a package matches, or the number of patterns.
func place(patterns []string, pkg string) int {
	for i, p := range patterns {
		if ok, _ := path.Match(p, pkg); ok {
			return i
		}
	}
	return len(patterns)
}

// groupOf returns the position of a package's group, or -1. Packages that are not drawn have none.
func groupOf(pkg string) int {
	if matches(notDrawn, pkg) {
		return -1
	}
	return slices.IndexFunc(groups, func(g group) bool { return matches(g.packages, pkg) })
}

// groupImports returns the pairs of groups of which the first imports the second, by the code
// without its tests.
func groupImports(root string) (map[[2]int]bool, error) {
	found := map[[2]int]bool{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (strings.HasPrefix(base, ".") || base == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(name))
		from := groupOf(filepath.ToSlash(folder))
		if err != nil || from < 0 {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range file.Imports {
			pkg, ours := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), module)
			if to := groupOf(pkg); ours && to >= 0 && to != from {
				found[[2]int{from, to}] = true
			}
		}
		return nil
	})
	return found, err
}

// reduce makes the arrows: the imports without those that others imply.
func (h *house) reduce(imports map[[2]int]bool) error {
	reach := maps.Clone(imports)
	for by := range groups {
		for from := range groups {
			for to := range groups {
				if reach[[2]int{from, by}] && reach[[2]int{by, to}] {
					reach[[2]int{from, to}] = true
				}
			}
		}
	}
	for i, g := range groups {
		for j, other := range groups {
			pair := [2]int{i, j}
			if reach[pair] && other.row <= g.row {
				return fmt.Errorf("%s depends on %s, which is not below it: move a package to another group, or a group to another row", g.name, other.name)
			}
			through := func(p [2]int) bool { return p[0] == i && p[1] != j && reach[[2]int{p[1], j}] }
			if imports[pair] && !slices.ContainsFunc(slices.Collect(maps.Keys(imports)), through) {
				h.arrows = append(h.arrows, pair)
			}
		}
	}
	return nil
}
