package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/suggest"
)

// newNew is the command with those that add something.
func newNew(root string) *cobra.Command {
	c := &cobra.Command{Use: "new", Short: "Begin an API, a kind or a version", Args: suggest.Command,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	c.AddCommand(newAPI(root), newKind(root), newVersion(root))
	return c
}

func newAPI(root string) *cobra.Command {
	s := scaffoldOf{Hook: true, Priority: 100, Go: goRelease(), Date: time.Now().UTC().Format(time.DateOnly)}
	var dir, local string
	c := &cobra.Command{
		Use: "api GROUP", Short: "Make a module for an API of its own", Args: cobra.ExactArgs(1),
		Long: "Makes a module with an example kind, in a folder with the first word of the group's name:\ndocuments, rules, a test, a program of a dozen lines, README, Makefile, workflow, settings of an editor.",
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
			tidy := " && go mod tidy"
			if s.Local != "" {
				tidy = "" // go.work and go.sum say all
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s holds the API %s; README.md explains its loop. Next:\n\n  cd %s && git init%s && make test\n  make dev    # serves it, and follows your changes of %s\n",
				dir, s.Group, dir, tidy, s.schemaFile())
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
