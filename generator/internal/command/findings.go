package command

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/internal/schema"
)

// formatFlag adds the flag for the form of a report, with completion.
func formatFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "format", "human", "form of the report: "+strings.Join(compat.Formats(), ", "))
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(compat.Formats(), cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	checks := c.PreRunE
	c.PreRunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(compat.Formats(), *to) {
			return fmt.Errorf("there is no format %q; write one of %s", *to, strings.Join(compat.Formats(), ", "))
		}
		if checks != nil {
			return checks(cmd, args)
		}
		return nil
	}
}

// writeFindings writes a report that is not of the gate: people see findings only.
func writeFindings(out io.Writer, report *compat.Report, format string) error {
	if format != "human" {
		return report.Write(out, format)
	}
	for _, f := range report.Findings {
		if _, err := fmt.Fprintln(out, f); err != nil {
			return err
		}
	}
	return nil
}

// reported writes the mistakes in documents, and warnings about them, in a form for programs, and returns the error,
// shortened to the number of mistakes: their texts are in the report. People get the error as it is.
func reported(out io.Writer, format, tool string, err error, warnings ...compat.Finding) error {
	if format == "human" {
		return err
	}
	mistakes := mistakesOf(err)
	if err := writeFindings(out, &compat.Report{Tool: tool, Findings: slices.Concat(mistakes, warnings)}, format); err != nil {
		return err
	}
	if err != nil && !slices.ContainsFunc(mistakes, func(f compat.Finding) bool { return f.File == "" }) {
		return fmt.Errorf("%d mistakes in the documents", len(mistakes))
	}
	return err
}

// mistakesOf are joined mistakes as findings. An error that is not about a document has no place.
func mistakesOf(err error) []compat.Finding {
	if err == nil {
		return nil
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var found []compat.Finding
		for _, one := range all.Unwrap() {
			found = append(found, mistakesOf(one)...)
		}
		return found
	}
	f := compat.Finding{Rule: "document", Level: compat.Error, What: err.Error(), Why: "it cannot be read as a document of an API"}
	if mistake := (*schema.Error)(nil); errors.As(err, &mistake) {
		f.File, f.Line, f.What, f.Mend = mistake.Pos.File, mistake.Pos.Line, mistake.What, mistake.Fix
	}
	return []compat.Finding{f}
}
