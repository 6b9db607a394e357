package command

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"text/template"

	"github.com/capstan-dev/capstan/generator/compat"
)

//go:embed scaffold
var scaffold embed.FS

// capstan is the module that other modules build on.
const capstan = "github.com/capstan-dev/capstan"

// scaffoldOf are the words of new files.
type scaffoldOf struct {
	Module, Name, Group   string // "fleet.example.com/api", "fleet", "fleet.example.com"
	Folder, Version       string // "fleet", "v1beta1"
	Kind, Scope           string
	LowerPlural           string // "trucks"
	Priority              int    // of the version
	Hook                  bool   // the kind has a validation hook
	Go                    string // the least release of Go: "1.26.8"
	CapstanVersion, Local string // Local is a folder with the source of Capstan, "" for none
	Date                  string // of today
	Builtin               bool   // the program has the built-in groups too
}

// Plural is "Trucks", Article "a", Upper "A".
func (s scaffoldOf) Plural() string { return s.Kind + strings.TrimPrefix(plural(s.Kind), s.Kind) }
func (s scaffoldOf) Article() string {
	if strings.ContainsRune("AEIOU", rune(s.Kind[0])) {
		return "an"
	}
	return "a"
}
func (s scaffoldOf) Upper() string { return strings.ToUpper(s.Article()[:1]) + s.Article()[1:] }

// Package is "fleetv1", Accessor "FleetV1".
func (s scaffoldOf) Package() string { return strings.ReplaceAll(s.Folder, "-", "") + s.Version }
func (s scaffoldOf) Accessor() string {
	words := strings.FieldsFunc(s.Folder+"-"+s.Version, func(r rune) bool { return r == '-' })
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// plural is the usual plural of an English noun.
func plural(word string) string {
	switch {
	case regexp.MustCompile(`[^aeiou]y$`).MatchString(word):
		return word[:len(word)-1] + "ies"
	case regexp.MustCompile(`(s|x|z|ch|sh)$`).MatchString(word):
		return word + "es"
	}
	return word + "s"
}

var (
	groupName   = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`)
	versionName = regexp.MustCompile(`^v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?$`)
	kindName    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
)

// check refuses words that documents cannot have.
func (s *scaffoldOf) check() error {
	switch {
	case !versionName.MatchString(s.Version):
		return fmt.Errorf("%q is not a version: write one like v1 or v1beta1", s.Version)
	case !kindName.MatchString(s.Kind):
		return fmt.Errorf("%q cannot be a kind: write a singular noun in CamelCase, like Truck", s.Kind)
	case s.Scope != "Namespaced" && s.Scope != "Cluster":
		return fmt.Errorf("%q is not a scope: write Namespaced or Cluster", s.Scope)
	}
	if s.LowerPlural == "" {
		s.LowerPlural = plural(strings.ToLower(s.Kind))
	}
	return nil
}

// writeModule writes all files of a new module, generated ones too.
func (s *scaffoldOf) writeModule(dir string) error {
	files := s.moduleFiles()
	if s.Local != "" {
		files["go.work"] = "go.work.tmpl"
	}
	if err := s.write(dir, files); err != nil {
		return err
	}
	if s.Local != "" { // the libraries are the same, so are their sums
		if err := copyFile(filepath.Join(dir, "go.sum"), filepath.Join(s.Local, "go.sum")); err != nil {
			return err
		}
	}
	_, err := generate(dir, emitters(), io.Discard)
	return err
}

// findCapstan finds out which release of Capstan the module is for: that of this program, or the commit of a
// folder with the source.
func (s *scaffoldOf) findCapstan(local string) error {
	if local != "" {
		at, err := filepath.Abs(local)
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(at, "generator")); err != nil {
			return fmt.Errorf("%s does not hold the source of Capstan: %w", local, err)
		}
		s.CapstanVersion, s.Local = versionOf(at), at
		return nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == capstan && releasedVersion.MatchString(m.Version) {
				s.CapstanVersion = m.Version
				return nil
			}
		}
	}
	return errors.New("this program does not know its release: name the folder with the source of Capstan, --capstan DIR")
}

var releasedVersion = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+[-.0-9A-Za-z]*$`)

// versionOf is the version of the commit in a clone, as the go command names it: its tag, or the time and
// the hash. It is v0.0.0 for a folder that is not a clone.
func versionOf(clone string) string {
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-C", clone}, args...)...)
		c.Env = append(os.Environ(), "TZ=UTC0")
		out, _ := c.Output() // nothing without git, or for a folder of another user
		return strings.TrimSpace(string(out))
	}
	if tag := git("describe", "--tags", "--exact-match"); releasedVersion.MatchString(tag) {
		return tag
	}
	when, hash, _ := strings.Cut(git("log", "-1", "--date=format-local:%Y%m%d%H%M%S", "--format=%cd %H"), " ")
	if len(when) != len("20060102150405") || len(hash) < 12 {
		return "v0.0.0"
	}
	return "v0.0.0-" + when + "-" + hash[:12]
}

func goRelease() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if release := regexp.MustCompile(`^go([0-9.]+)`).FindStringSubmatch(info.GoVersion); release != nil {
			return release[1]
		}
	}
	return "1.26"
}

func (s *scaffoldOf) schemaFile() string {
	return "schemas/" + s.Folder + "/" + s.Version + "/" + s.Kind + ".yaml"
}

func (s *scaffoldOf) groupFile() string { return "openapi/" + s.Folder + "/" + s.Version + ".yaml" }

// moduleFiles are the files of a new module with the templates that they are made of.
func (s *scaffoldOf) moduleFiles() map[string]string {
	return map[string]string{
		"go.mod": "go.mod.tmpl", "main.go": "main.go.tmpl", "hooks/hooks.go": "hooks.go.tmpl", "server_test.go": "server_test.go.tmpl",
		"README.md": "README.md.tmpl", "Makefile": "Makefile.tmpl", ".github/workflows/ci.yml": "ci.yml.tmpl",
		".gitignore": "gitignore.tmpl", ".gitattributes": "gitattributes.tmpl", compat.Released + "/release.yaml": "released.yaml.tmpl",
		".vscode/settings.json": "settings.json.tmpl", ".vscode/tasks.json": "tasks.json.tmpl",
		".vscode/extensions.json": "extensions.json.tmpl",
		s.groupFile():             "group.yaml.tmpl", s.schemaFile(): "kind.yaml.tmpl",
		strings.TrimSuffix(s.schemaFile(), ".yaml") + "Restart.yaml": "restart.yaml.tmpl",
		"examples/" + strings.ToLower(s.Kind) + ".yaml":              "example.yaml.tmpl",
	}
}

// text executes a template.
func (s *scaffoldOf) text(name string) (string, error) {
	all, err := template.ParseFS(scaffold, "scaffold/*.tmpl")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = all.ExecuteTemplate(&b, name, s)
	return strings.TrimRight(b.String(), "\n") + "\n", err
}

// write makes new files of templates.
func (s *scaffoldOf) write(dir string, templates map[string]string) error {
	files := map[string]string{}
	for name, from := range templates {
		var err error
		if files[name], err = s.text(from); err != nil {
			return err
		}
	}
	return create(dir, files)
}

// create makes new files, all or none.
func create(dir string, files map[string]string) error {
	for name := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already: rename one of them", path)
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
