package reference

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/docpage"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// constants are the texts of the constants of a file whose names match.
func constants(t *testing.T, file string, names *regexp.Regexp) (texts []string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(docpage.Root(t), filepath.FromSlash(file)), nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			if text := textOf(value); text != "" && names.MatchString(spec.Names[i].Name) {
				texts = append(texts, text)
			}
		}
		return true
	})
	if len(texts) == 0 {
		t.Errorf("%s has no constant %s", file, names)
	}
	return texts
}

// textOf is the value of a constant text that may be joined with the profile's names.
func textOf(value ast.Expr) string {
	switch v := value.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(v.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(v.X) + textOf(v.Y)
	case *ast.SelectorExpr:
		return map[string]string{"GroupSuffix": profile.GroupSuffix, "LabelDomain": profile.LabelDomain}[v.Sel.Name]
	case *ast.Ident:
		return map[string]string{"suffix": profile.GroupSuffix}[v.Name]
	}
	return ""
}

// TestErrors holds the page of errors to the reasons and causes of the code.
func TestErrors(t *testing.T) {
	t.Parallel()
	reasons := regexp.MustCompile("^(Reason|Cause)[A-Z]")
	names := append(constants(t, "internal/api/error.go", reasons), constants(t, "internal/schema/cause.go", reasons)...)
	docpage.Complete(t, "docs/reference/errors.md", names)
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z]\\w+)` \\|").FindAllStringSubmatch(docpage.Read(t, "docs/reference/errors.md"), -1) {
		if m[1] != "InsufficientStorage" && !strings.Contains(" "+strings.Join(names, " ")+" ", " "+m[1]+" ") {
			t.Errorf("the page has %s, the code has not", m[1])
		}
	}
}

// TestAuditFields holds the page of audit events to the members that the code writes, and to its
// annotations.
func TestAuditFields(t *testing.T) {
	t.Parallel()
	var names []string
	for _, m := range regexp.MustCompile("`,?\"(\\w+)\":").FindAllStringSubmatch(docpage.Read(t, "internal/audit/event.go"), -1) {
		names = append(names, m[1])
	}
	if len(names) < 20 {
		t.Errorf("only %d members were found", len(names))
	}
	notes := regexp.MustCompile("Note$|^truncated$|^imagePolicy$|^failureKey$")
	for _, file := range []string{"internal/audit/event.go", "internal/authn/accounttoken.go", "server/internal/request/audited.go",
		"server/internal/admission/webhooks/annotate.go", "server/internal/admission/policies/validate.go", "server/internal/admission/imagepolicy.go"} {
		names = append(names, constants(t, file, notes)...)
	}
	docpage.Complete(t, "docs/reference/audit.md", names)
}

// TestDifferences holds the page of differences to the accepted ones of the comparison with
// kube-apiserver: each decision and each reason is there.
func TestDifferences(t *testing.T) {
	t.Parallel()
	var accepted struct {
		Rules []struct{ Reason string }
	}
	if err := yaml.Unmarshal([]byte(docpage.Read(t, "tools/differ/accepted.yaml")), &accepted); err != nil {
		t.Fatal(err)
	}
	if len(accepted.Rules) < 30 {
		t.Errorf("only %d rules", len(accepted.Rules))
	}
	page := docpage.Read(t, "docs/explanation/differences.md")
	for _, r := range accepted.Rules {
		text := regexp.MustCompile(`^decision \d+[^:.]*: `).ReplaceAllString(r.Reason, "")
		text = regexp.MustCompile(`; with \d+, `).ReplaceAllString(text, ", ") // of another decision
		if !strings.Contains(page, docpage.Cell(text)) {
			t.Errorf("docs/explanation/differences.md lacks %q; add it, with the reason why", docpage.Cell(text))
		}
	}
}
