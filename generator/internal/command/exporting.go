package command

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// exporters make the files of each form of export.
var exporters = map[string]func(*model.Model, []string) ([]emit.File, []schema.Error, error){
	"crd": emit.Definitions, "json-schema": emit.JSONSchemas, "openapi-3.0": emit.OpenAPI30, "openapi-3.1": emit.OpenAPI31,
}

func newExport(root string) *cobra.Command {
	var groups []string
	var overwrite, strict bool
	forms := strings.Join(slices.Sorted(maps.Keys(exporters)), ", ")
	c := &cobra.Command{
		Use: "export FORM FOLDER", Short: "Make a definition manifest, OpenAPI, or JSON Schema for editors from the documents", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			export := exporters[args[0]]
			if export == nil {
				return fmt.Errorf("there is no form %q: write one of %s", args[0], forms)
			}
			m, err := load.Load(root)
			if err != nil {
				return err
			}
			if len(groups) == 0 {
				groups = ownGroups(m)
			}
			files, lost, err := export(m, groups)
			if err != nil {
				return err
			}
			for _, e := range lost {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), e.Error()); err != nil {
					return err
				}
			}
			switch {
			case len(files) == 0:
				return errors.New("nothing is exported: no resource of the chosen groups; name others with --group")
			case strict && len(lost) > 0:
				return fmt.Errorf("%d parts of the documents cannot be said in this form, so nothing is written", len(lost))
			}
			texts := map[string][]byte{}
			for _, f := range files {
				texts[f.Path] = f.Data
			}
			if err := writeDocuments(args[1], texts, overwrite); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s holds %d files, %d parts of the documents are left out.\n", args[1], len(files), len(lost))
			return err
		},
	}
	c.Long = "Makes files of another form from the documents: " + forms +
		".\nWhat the form cannot say is listed with file, line and remedy. It ends with 2 and writes nothing\nwhen the documents are wrong, or with --strict when something would be left out."
	c.Flags().StringSliceVar(&groups, "group", nil, "the groups, by their names (default: those of your own, in this repository all)")
	c.Flags().BoolVar(&overwrite, "overwrite", false, "replace files that are there already")
	c.Flags().BoolVar(&strict, "strict", false, "write nothing if a part would be left out")
	return c
}

// ownGroups are the groups of a project that are not built in.
func ownGroups(m *model.Model) (groups []string) {
	for _, gv := range m.GroupVersions {
		if gv.Served && !gv.BuiltIn {
			groups = append(groups, gv.Group)
		}
	}
	return slices.Compact(groups)
}
