package command

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/internal/docpage"
)

// TestCommandsAreOnTheirPage holds the page of the designers' commands to their help.
func TestCommandsAreOnTheirPage(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(`# Commands of the designers

For those who look up a command of ` + "`capstan-gen`" + `; in a module of an API it is ` + "`go tool capstan-gen`" + `. The page is made of the program (` + "`make reference`" + `).
[Design an API](../howto/design-an-api.md) says when to use which. A command ends with 1 when the gate or the house rules say no, and with 2 when input is wrong.
`)
	describe(&b, newRoot(t.TempDir()))
	docpage.Compare(t, "docs/reference/capstan-gen.md", b.String())
}

// describe writes the parts about the commands below one.
func describe(b *bytes.Buffer, parent *cobra.Command) {
	for _, c := range parent.Commands() {
		about := c.Long
		if about == "" {
			about = c.Short + "."
		}
		fmt.Fprintf(b, "\n## %s\n\n%s\n\n    %s\n", c.CommandPath(), strings.TrimSpace(about), c.UseLine())
		if c.Example != "" {
			fmt.Fprintf(b, "\nExample:\n\n    %s\n", strings.Join(strings.Fields(c.Example), " "))
		}
		if c.HasAvailableLocalFlags() {
			b.WriteString("\n| flag | meaning |\n| --- | --- |\n")
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			kind, text := pflag.UnquoteUsage(f)
			fmt.Fprintf(b, "| `--%s`%s | %s |\n", f.Name, strings.TrimRight(" "+kind, " "), docpage.Cell(text))
		})
		describe(b, c)
	}
}
