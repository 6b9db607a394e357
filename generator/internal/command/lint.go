package command

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/house"
	"github.com/capstan-dev/capstan/generator/internal/load"
)

func newLint(root string) *cobra.Command {
	return &cobra.Command{
		Use: "lint", Short: "Check the house rules of documents: names, optional fields, conditions, units, booleans, enums, references", Args: cobra.NoArgs,
		Long: "Checks the house rules of documents, of all groups that are not a part of the release.\nWarnings may be right in their place; errors end it with 1. lint.yaml may change levels and accept findings\nfor a time, like compat.yaml.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := load.Load(root)
			if err != nil {
				return err
			}
			config, err := readConfig(root, "", "lint.yaml", house.Rules()...)
			if err != nil {
				return err
			}
			report := compat.Report{Findings: house.Check(m)}
			if config != nil {
				for i := range report.Findings {
					config.Level(&report.Findings[i])
				}
				report.Findings = slices.DeleteFunc(report.Findings, func(f compat.Finding) bool { return f.Level == compat.Off })
				config.Accept(&report, time.Now().UTC())
			}
			errors := 0
			for _, f := range report.Findings {
				if f.Level == compat.Error {
					errors++
				}
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), f); err != nil {
					return err
				}
			}
			if errors > 0 {
				return verdict{fmt.Errorf("%d errors, %d warnings", errors, len(report.Findings)-errors)}
			}
			return nil
		},
	}
}
