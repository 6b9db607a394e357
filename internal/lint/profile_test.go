package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// keptNames are texts in hand-written code that may hold a name of the published profile,
// by file, with the reason.
var keptNames = map[string]map[string]string{
	"server/command/version.go":        {`json:"kubernetes"`: "names the project whose release is meant"},
	"server/internal/options/inert.go": {"kubernetes-service-node-port": "a flag of kube-apiserver, as scripts give it"},
	"server/internal/metrics/metrics.go": {
		"kubernetes_feature_enabled": "a figure that dashboards ask for; words of a profile may hold what no figure's name can",
		"kubernetes_build_info":      "the same",
	},
}

// profiled reports whether a text holds a name from openapi/profile.yaml.
func profiled(text string) bool {
	return strings.Contains(text, "k8s.io") || strings.Contains(text, "kubernetes")
}

// TestNamesComeFromTheProfile: hand-written code takes the group suffix, the label
// domain and the other names of the profile from gen/profile, documents write
// placeholders. Tests may spell them, since they run with the published profile.
func TestNamesComeFromTheProfile(t *testing.T) {
	used := map[string]bool{}
	goFiles(t, func(path string) {
		if !handwritten(path) || strings.HasSuffix(path, "_test.go") || below(path, "server/internal/harness") || below(path, "internal/e2e") || below(path, "tools/differ") || below(path, "tools/storm") ||
			below(path, "tools/facts") || below(path, "tools/bench/cluster") { // read the sources of Kubernetes, and run its programs
			return
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, filepath.Join("..", "..", path), nil, 0)
		if err != nil {
			t.Error(err)
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.ImportSpec); ok {
				return false
			}
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Errorf("%s: %v", files.Position(literal.Pos()), err)
			}
			for kept := range keptNames[path] {
				if strings.Contains(text, kept) {
					used[path+kept] = true
					text = strings.ReplaceAll(text, kept, "")
				}
			}
			if profiled(text) {
				t.Errorf("%s: a name of the profile is spelled out: build it from the constants of gen/profile", files.Position(literal.Pos()))
			}
			return true
		})
	})
	for path, texts := range keptNames {
		for text, why := range texts {
			if !used[path+text] {
				t.Errorf("%s no longer holds %q (%s): remove it from keptNames", path, text, why)
			}
		}
	}
}

func TestDocumentsWritePlaceholders(t *testing.T) {
	seen := 0
	for _, dir := range []string{"openapi", "schemas", "server", "generator/internal/emit/templates"} {
		err := filepath.WalkDir(filepath.Join("..", "..", filepath.FromSlash(dir)), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(filepath.Join("..", ".."), path)
			rel = filepath.ToSlash(rel)
			switch {
			case rel == "openapi/released", rel == "schemas/examples", d.Name() == "testdata":
				return filepath.SkipDir // they are of the published profile
			case d.IsDir(), rel == "openapi/profile.yaml", !strings.HasSuffix(rel, ".yaml") && !strings.HasSuffix(rel, ".tmpl"):
				return nil
			}
			seen++
			text, err := os.ReadFile(path)
			for i, line := range strings.Split(string(text), "\n") {
				if profiled(line) {
					t.Errorf("%s:%d: a name of the profile is spelled out: write <groupSuffix>, <labelDomain>, <mediaTypeWord> or <extensionPrefix>", rel, i+1)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen < 100 {
		t.Errorf("%d documents were found", seen)
	}
}
