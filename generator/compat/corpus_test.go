package compat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// The documents of the corpus, in testdata/base.
const (
	order   = "schemas/shop/v1/Order.yaml"
	parcel  = "schemas/shop/v1/Parcel.yaml"
	idea    = "schemas/shop/v1alpha1/Idea.yaml"
	coupon  = "schemas/shop/v1beta1/Coupon.yaml"
	shop    = "openapi/shop/v1.yaml"
	beta1   = "openapi/shop/v1beta1.yaml"
	alpha1  = "openapi/shop/v1alpha1.yaml"
	words   = "openapi/profile.yaml"
	promise = "openapi/promises.yaml"
)

// edit replaces a text of a document. An empty old text replaces all of it, and an empty new
// text then removes the document.
type edit struct{ file, old, new string }

// row is one change and its verdict: a letter for the level and the rule of each finding,
// "" for silence.
type row struct {
	name   string
	want   string
	now    []edit
	before []edit // of the old side
}

// change is a row with one edit.
func change(name, want, file, old, new string) row {
	return row{name: name, want: want, now: []edit{{file, old, new}}}
}

// since is a row whose old side is edited, too.
func since(name, want, file, base, old, new string) row {
	return row{name: name, want: want, before: []edit{{file, base, old}}, now: []edit{{file, base, new}}}
}

// day is the date of all comparisons.
var day = time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)

func TestCorpus(t *testing.T) {
	silent, all := 0, 0
	base := readBase(t)
	old := loaded(t, base, nil)
	names := map[string]bool{}
	for _, r := range slices.Concat(valueRows, typeRows, resourceRows, lifeRows, silentRows, cornerRows, ruleRows, renameRows, gapRows) {
		if all++; r.want == "" {
			silent++
		}
		if names[r.name] {
			t.Errorf("two rows are called %s", r.name)
		}
		names[r.name] = true
		t.Run(r.name, func(t *testing.T) {
			before := old
			if r.before != nil {
				before = loaded(t, base, r.before)
			}
			report := Compare(before, loaded(t, base, r.now), Options{Now: day})
			if r.silent(order) {
				e := newExperiment(7, write(t, edited(t, base, r.before)), write(t, edited(t, base, r.now)), before)
				if why := e.broken(30); why != "" {
					t.Errorf("the experiment breaks: %s", why)
				}
			}
			if got := verdict(report.Findings); got != r.want {
				t.Errorf("got %q, want %q", got, r.want)
				for _, f := range report.Findings {
					t.Log(f)
				}
			}
			for _, f := range report.Findings {
				if f.File == "" || f.Line == 0 || f.Mend == "" || f.Why == "" {
					t.Errorf("no place, reason or remedy: %+v", f)
				}
			}
		})
	}
	if all < 200 || silent*2 < all {
		t.Errorf("%d pairs, %d of them compatible; want 200, half of them compatible", all, silent)
	}
}

// silent reports whether the row is a change of a document that breaks nothing.
func (r row) silent(document string) bool {
	return !strings.Contains(r.want, "E:") && slices.ContainsFunc(r.now, func(e edit) bool { return e.file == document })
}

// verdict is the findings in short, each once.
func verdict(findings []Finding) string {
	var parts []string
	for _, f := range findings {
		parts = append(parts, strings.ToUpper(string(f.Level[:1]))+":"+f.Rule)
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), " ")
}

func readBase(t testing.TB) map[string]string {
	t.Helper()
	base := filepath.Join("testdata", "base")
	files := map[string]string{}
	err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(base, path)
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// edited is the base with some edits.
func edited(t testing.TB, base map[string]string, edits []edit) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name, text := range base {
		files[name] = text
	}
	for _, e := range edits {
		switch {
		case e.old != "" && !strings.Contains(files[e.file], e.old):
			t.Fatalf("%s does not hold %q", e.file, e.old)
		case e.old != "":
			files[e.file] = strings.Replace(files[e.file], e.old, e.new, 1)
		case e.new == "":
			delete(files, e.file)
		default:
			files[e.file] = e.new
		}
	}
	return files
}

func write(t testing.TB, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// loaded is the surface of the edited base, which is a release.
func loaded(t testing.TB, base map[string]string, edits []edit) *Surface {
	t.Helper()
	root := write(t, edited(t, base, edits))
	s, err := Documents(root)
	if err != nil {
		t.Fatal(err)
	}
	if s.Release, err = ReadRelease(root); err != nil {
		t.Fatal(err)
	}
	return s
}
