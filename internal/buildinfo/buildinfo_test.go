package buildinfo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestGiven(t *testing.T) {
	recorded := Info{Version: "v0.1.0", Commit: "aaa", CommitTime: "2026-01-01T00:00:00Z", Modified: true}
	for _, c := range []struct {
		version, commit, time string
		from, want            Info
	}{
		{"", "", "", Info{}, Info{Version: "(devel)"}},
		{"", "", "", recorded, recorded},
		{"v0.2.0", "bbb", "t", recorded, Info{Version: "v0.2.0", Commit: "bbb", CommitTime: "t"}},
		{"v0.2.0-3-gbbb-dirty", "bbb", "t", Info{}, Info{Version: "v0.2.0-3-gbbb-dirty", Commit: "bbb", CommitTime: "t", Modified: true}},
	} {
		if got := c.from.given(c.version, c.commit, c.time); got != c.want {
			t.Errorf("%q of %+v: %+v, want %+v", c.version, c.from, got, c.want)
		}
	}
	if i := Read(); i.Version == "" || i.Go == "" || !strings.Contains(i.Platform, "/") {
		t.Errorf("%+v", i)
	}
}

// TestMakefileSetsWhatExists: the variables in the Makefile exist, since the linker
// ignores unknown ones.
func TestMakefileSetsWhatExists(t *testing.T) {
	flags, err := exec.Command("make", "-s", "-C", filepath.Join("..", ".."), "ldflags").Output()
	if err != nil {
		t.Fatalf("make ldflags: %v", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "buildinfo.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			for _, name := range v.Names {
				variables[name.Name] = true
			}
		}
		return true
	})
	set := 0
	for _, m := range regexp.MustCompile(`-X (\S+)\.(\w+)=(\S*)`).FindAllStringSubmatch(string(flags), -1) {
		set++
		if m[1] != "github.com/capstan-dev/capstan/internal/buildinfo" {
			t.Errorf("%s.%s is not of this package", m[1], m[2])
		}
		if !variables[m[2]] {
			t.Errorf("there is no variable %s", m[2])
		}
	}
	if set != 3 {
		t.Errorf("%d variables are set: %s", set, flags)
	}
}
