package command

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/house"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

func newLint(root string) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "lint", Short: "Check the house rules of documents: names, optional fields, conditions, units, booleans, enums, references", Args: cobra.NoArgs,
		Long: "Checks the house rules of documents, of all groups that are not a part of the release.\nWarnings may be right in their place; errors end it with 1. lint.yaml may change levels and accept findings\nfor a time, like compat.yaml.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			m, err := load.All(root)
			if err != nil {
				return reported(out, format, "capstan-gen lint", err)
			}
			report, err := judged(root, withVersions(house.Check(m), m.Others))
			if err != nil {
				return err
			}
			if err := writeFindings(out, report, format); err != nil {
				return err
			}
			if report.Breaking() {
				return verdict{fmt.Errorf("the house rules say no: %s; mend the documents, or accept the findings in lint.yaml", report.Summary())}
			}
			return nil
		},
	}
	formatFlag(c, &format)
	return c
}

// judged is the report of findings in documents, with the levels and acceptances of lint.yaml.
func judged(root string, findings []compat.Finding) (*compat.Report, error) {
	config, err := readConfig(root, "", "lint.yaml", house.Rules()...)
	if err != nil {
		return nil, err
	}
	report := &compat.Report{Tool: "capstan-gen lint", Findings: findings}
	if config != nil {
		for i := range report.Findings {
			config.Level(&report.Findings[i])
		}
		report.Findings = slices.DeleteFunc(report.Findings, func(f compat.Finding) bool { return f.Level == compat.Off })
		config.Accept(report, time.Now().UTC())
	}
	return report, nil
}

// withVersions adds to findings what one version of a kind allows and another one refuses in some releases, each once.
func withVersions(found []compat.Finding, releases []*model.Model) []compat.Finding {
	for _, release := range releases {
		for _, f := range house.Versions(release) {
			if !slices.Contains(found, f) {
				found = append(found, f)
			}
		}
	}
	return found
}

// warnings lists the findings of generate in right documents: values that not all versions of a kind allow, unless lint.yaml
// turns the rule off or accepts them. Other entries of lint.yaml are not judged here.
func warnings(root string, m *model.Model) ([]compat.Finding, error) {
	report, err := judged(root, withVersions(nil, append([]*model.Model{m}, m.Others...)))
	if err != nil {
		return nil, err
	}
	var found []compat.Finding
	for _, f := range report.Findings {
		if f.Rule == compat.VersionValues {
			f.Level = compat.Warning
			found = append(found, f)
		}
	}
	return found, nil
}
