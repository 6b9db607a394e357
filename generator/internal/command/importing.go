package command

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/generator/internal/imports"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

func newImport(root string) *cobra.Command {
	var o imports.Options
	var strict bool
	var kubeconfig, kubecontext string
	c := &cobra.Command{
		Use: "import FILE|URL", Short: "Make documents of custom resource definitions, OpenAPI 3, or a running server", Args: cobra.ExactArgs(1),
		Long: "Makes openapi/ and schemas/ of the custom resource definitions in a file, or of an OpenAPI 3\ndocument, or of those of a running server, like https://host:6443 with --kubeconfig.\n" +
			"What documents cannot say is listed with file, line and remedy, and left out. It ends with 2,\nand writes nothing, when the file is wrong, or with --strict when something would be left out.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Root, o.Check = root, checkCode
			made, err := importFrom(context.Background(), args[0], kubeconfig, kubecontext, o)
			if err != nil {
				return err
			}
			for _, n := range made.Notes {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), n); err != nil {
					return err
				}
			}
			if strict && len(made.Notes) > 0 {
				return fmt.Errorf("%d parts of %s cannot be taken over, so nothing is written", len(made.Notes), args[0])
			}
			if err := writeDocuments(root, made.Files, true); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d documents are made of %s, %d parts of it are left out. Look at them, then generate.\n", len(made.Files),
				args[0], len(made.Notes))
			return err
		},
	}
	c.Flags().StringSliceVar(&o.Groups, "group", nil, "only these groups")
	c.Flags().BoolVar(&o.Overwrite, "overwrite", false, "replace documents that are there already")
	c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig with the credentials for a server")
	c.Flags().StringVar(&kubecontext, "context", "", "context of the kubeconfig")
	c.Flags().BoolVar(&strict, "strict", false, "write nothing if a part would be left out")
	return c
}

// checkCode finds names that clash in the code that is generated.
func checkCode(m *model.Model) error {
	named := *m
	if named.Module == model.Nameless {
		named.Module = "example.com/imported"
	}
	for _, all := range emitters() {
		if _, err := emitAll(&named, all); err != nil {
			return err
		}
	}
	return nil
}

// importFrom makes documents of a file or of the server at a URL.
func importFrom(ctx context.Context, name, kubeconfig, kubecontext string, o imports.Options) (*imports.Result, error) {
	if kind, _, _ := strings.Cut(name, ":"); kind == "http" || kind == "https" {
		all, err := foreign.Fetch(ctx, name, kubeconfig, kubecontext)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(s foreign.Served) bool {
			return len(o.Groups) == 0 && !strings.Contains(s.Group, ".") || len(o.Groups) > 0 && !slices.Contains(o.Groups, s.Group)
		})
		return imports.OfServer(all, o)
	}
	f, err := foreign.Read(name)
	if err != nil {
		return nil, err
	}
	return imports.Of(f, o)
}

// writeDocuments writes all files, or none if one is there already and stays.
func writeDocuments(root string, files map[string][]byte, overwrite bool) error {
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		path := filepath.Join(root, filepath.FromSlash(name))
		if _, err := os.Stat(path); !overwrite && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there already; remove it, name another folder, or write --overwrite", path)
		}
	}
	for _, name := range names {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return errors.Join(err, fmt.Errorf("%s is not written, nor are those after it", name))
		}
	}
	return nil
}
