package command

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/suggest"
)

//go:embed scaffold
var scaffold embed.FS

// capstan is the module that other modules build on.
const capstan = "github.com/capstan-dev/capstan"

// scaffoldOf are the words of new files.
type scaffoldOf struct {
	Module, Name, Group     string // "fleet.example.com/api", "fleet", "fleet.example.com"
	Folder, Version         string // "fleet", "v1beta1"
	Kind, Scope             string
	LowerPlural             string // "trucks"
	Priority                int    // of the version
	Hook                    bool   // the kind has a validation hook
	Go                      string // the least release of Go: "1.26.8"
	CapstanVersion, Replace string // Replace is a folder, "" for none
	Builtin                 bool   // the program has the built-in groups too
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

// newNew is the command with those that add something.
func newNew(root string) *cobra.Command {
	c := &cobra.Command{Use: "new", Short: "Begin an API, a kind or a version", Args: suggest.Command,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(newAPI(root), newKind(root), newVersion(root))
	return c
}

func newAPI(root string) *cobra.Command {
	s := scaffoldOf{Hook: true, Priority: 100, Go: goRelease()}
	var dir, local string
	c := &cobra.Command{
		Use: "api GROUP", Short: "Make a module for an API of its own", Args: cobra.ExactArgs(1),
		Long: "Makes a module with an example kind, in a folder with the first word of the group's name:\ndocuments, rules, a test, a program of a dozen lines, a Makefile and a workflow.",
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Group = args[0]
			if !groupName.MatchString(s.Group) {
				return fmt.Errorf("%q is not the name of a group: write a domain of yours, like fleet.example.com", s.Group)
			}
			s.Folder, _, _ = strings.Cut(s.Group, ".")
			s.Name = s.Folder
			if s.Module == "" {
				s.Module = s.Group
			}
			if dir == "" {
				dir = s.Folder
			}
			if err := s.check(); err != nil {
				return err
			}
			if err := s.findCapstan(local); err != nil {
				return err
			}
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(root, dir)
			}
			if left, err := os.ReadDir(dir); err == nil && len(left) > 0 {
				return fmt.Errorf("%s is not empty: name another folder with --dir", dir)
			}
			if err := s.writeModule(dir); err != nil {
				return errors.Join(err, os.RemoveAll(dir))
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s holds the API %s. Next:\n\n  cd %s && go mod tidy && make test\n  make dev    # serves it, and follows your changes of %s\n", dir, s.Group, dir, s.schemaFile())
			return err
		},
	}
	c.Flags().BoolVar(&s.Builtin, "builtin", true, "serve the built-in groups too; without them there are namespaces, roles and reviews of access")
	c.Flags().StringVar(&dir, "dir", "", "the new folder")
	c.Flags().StringVar(&s.Module, "module", "", "import path of the module (default: the group)")
	c.Flags().StringVar(&s.Version, "version", "v1beta1", "the first version")
	c.Flags().StringVar(&s.Kind, "kind", "Widget", "the first kind")
	c.Flags().StringVar(&s.Scope, "scope", "Namespaced", "its scope, Namespaced or Cluster")
	c.Flags().StringVar(&local, "capstan", "", "folder with the source of Capstan, in place of a release")
	return c
}

// writeModule writes all files of a new module, generated ones too.
func (s *scaffoldOf) writeModule(dir string) error {
	if err := s.write(dir, s.moduleFiles()); err != nil {
		return err
	}
	if s.Replace != "" { // the libraries are the same, so are their sums
		if err := copyFile(filepath.Join(dir, "go.sum"), filepath.Join(s.Replace, "go.sum")); err != nil {
			return err
		}
	}
	return generate(dir, emitters(), io.Discard)
}

// findCapstan finds out which release of Capstan the module is for: that of this program.
func (s *scaffoldOf) findCapstan(local string) error {
	if local != "" {
		at, err := filepath.Abs(local)
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(at, "generator")); err != nil {
			return fmt.Errorf("%s does not hold the source of Capstan: %w", local, err)
		}
		s.CapstanVersion, s.Replace = "v0.0.0", at
		return nil
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == capstan && regexp.MustCompile(`^v[0-9]`).MatchString(m.Version) {
				s.CapstanVersion = m.Version
				return nil
			}
		}
	}
	return errors.New("this program does not know its release: name the folder with the source of Capstan, --capstan DIR")
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
		"Makefile": "Makefile.tmpl", ".github/workflows/ci.yml": "ci.yml.tmpl", ".gitignore": "gitignore.tmpl",
		s.groupFile(): "group.yaml.tmpl", s.schemaFile(): "kind.yaml.tmpl", strings.TrimSuffix(s.schemaFile(), ".yaml") + "Restart.yaml": "restart.yaml.tmpl",
		"examples/" + strings.ToLower(s.Kind) + ".yaml": "example.yaml.tmpl",
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
	return b.String(), err
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

// groupVersion is the one of the documents that a folder names, or the only one.
func groupVersion(root, dir string) (*model.GroupVersion, error) {
	m, err := load.Load(root)
	if err != nil {
		return nil, err
	}
	var found []*model.GroupVersion
	for _, gv := range m.GroupVersions {
		if gv.Served && (dir == "" || gv.Dir == dir) {
			found = append(found, gv)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d versions are meant: name one with --in, like fleet/v1", len(found))
	}
	return found[0], nil
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
