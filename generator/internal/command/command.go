package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/site"
	"github.com/capstan-dev/capstan/internal/buildinfo"
	"github.com/capstan-dev/capstan/internal/suggest"
)

// Main runs a command at the root of the project in the working directory, and ends the
// process: with 1 when the gate or the house rules say no, with 2 when the command line, the documents or other
// input are wrong, or something breaks.
func Main() {
	if err := Run(".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(codeOf(err))
	}
}

// Run runs a command for the documents below root.
func Run(root string, args []string, out io.Writer) error {
	c := newRoot(root)
	c.SetArgs(args)
	c.SetOut(out)
	c.SetErr(out)
	return c.Execute()
}

// newRoot builds the tree of commands.
func newRoot(root string) *cobra.Command {
	all := &cobra.Command{
		Use:   "capstan-gen",
		Short: "Designs an API: from documents to its server, its clients and its next version",
		Long: "Designs an API: from documents to its server, its clients and its next version.\nCommands work on openapi/ and schemas/ in the working directory.\n" +
			"They end with 0; with 1 when the gate, the house rules or another check say no; with 2 when the command line, the documents or other input are wrong.",
		Version:       buildinfo.Read().Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          suggest.Command,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	all.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return suggest.Flag(cmd.Flags(), err) })
	all.AddCommand(newGenerate(root), newCompat(root), newBaseline(root), newRelease(root), newNew(root), newDocs(root), newChanges(root), newLint(root),
		newExplain(root),
		newDev(root), newImport(root), newExport(root), newKeys(), newPromote(root))
	return all
}

func newGenerate(root string) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use: "generate", Short: "Make gen/ and internal/gen/ from the documents", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			if format != "human" {
				found, err := generate(root, emitters(), io.Discard)
				return reported(out, format, "capstan-gen generate", err, found...)
			}
			found, err := generate(root, emitters(), out)
			return errors.Join(err, writeFindings(out, &compat.Report{Findings: found}, format))
		},
	}
	formatFlag(c, &format)
	return c
}

func newDocs(root string) *cobra.Command {
	return &cobra.Command{
		Use: "docs FOLDER", Short: "Write the documentation as a site: reference, changes since the release, guides", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			pages, err := site.Write(root, args[0], time.Now())
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s/index.html and %d other files\n", args[0], pages-1)
			}
			return err
		},
	}
}

func newChanges(root string) *cobra.Command {
	return &cobra.Command{
		Use: "changes FILE", Short: "Write the changes since the last release as JSON, for pages that show them", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			text, err := site.Record(root)
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(args[0]), 0o755); err != nil {
				return err
			}
			return os.WriteFile(args[0], text, 0o644)
		},
	}
}
