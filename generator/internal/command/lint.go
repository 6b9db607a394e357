package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/internal/house"
	"github.com/capstan-dev/capstan/generator/internal/load"
)

func newLint(root string) *cobra.Command {
	return &cobra.Command{
		Use: "lint", Short: "Check the house rules of documents: names, optional fields, conditions, units, booleans, enums, references", Args: cobra.NoArgs,
		Long: "Checks the house rules of documents, of all groups that are not a part of the release.\nWarnings may be right in their place; errors end it with 1.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := load.Load(root)
			if err != nil {
				return err
			}
			errors := 0
			found := house.Check(m)
			for _, f := range found {
				if !f.Warning {
					errors++
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), f); err != nil {
					return err
				}
			}
			if errors > 0 {
				return fmt.Errorf("%d errors, %d warnings", errors, len(found)-errors)
			}
			return nil
		},
	}
}
