package reference

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/capstan-dev/capstan/internal/docpage"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/command"
	"github.com/capstan-dev/capstan/server/internal/move"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// asProgram has the test's binary be the program: a command line ends its process.
const asProgram = "CAPSTAN_REFERENCE_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		command.MainWithEtcd("capstan", server.Config{}, command.Etcd{Import: move.NewImport, Export: move.NewExport, Check: move.Check})
	}
	os.Exit(m.Run())
}

// page is the help of one command, taken apart.
type page struct {
	about, usage, example string
	commands, flags       []row
}

// row is a line of a table in a help: a command or a flag, and what it does.
type row struct{ name, kind, text string }

var (
	commandLine = regexp.MustCompile(`^  (\S+)\s{2,}(.*)$`)
	flagLine    = regexp.MustCompile(`^\s+(?:-(\w), )?--([\w-]+)(?: (\S+))?\s{3,}(.*)$`)
)

// helpOf runs a command with --help.
func helpOf(t *testing.T, path ...string) page {
	t.Helper()
	cmd := exec.Command(os.Args[0], append(path, "--help")...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("capstan %s: %v", strings.Join(path, " "), err)
	}
	p, part := page{}, "about"
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		switch line {
		case "Usage:", "Examples:", "Available Commands:", "Flags:", "Global Flags:":
			part = line
			continue
		}
		switch part {
		case "about":
			p.about += line + "\n"
		case "Usage:":
			p.usage += strings.TrimPrefix(line, "  ") + "\n"
		case "Examples:":
			p.example += strings.TrimPrefix(line, "  ") + "\n"
		case "Available Commands:":
			if m := commandLine.FindStringSubmatch(line); m != nil {
				p.commands = append(p.commands, row{m[1], "", m[2]})
			}
		default:
			if m := flagLine.FindStringSubmatch(line); m != nil && m[2] != "help" {
				p.flags = append(p.flags, row{m[2], m[3], m[4]})
			}
		}
	}
	return p
}

// TestCommandsAreOnTheirPage holds the page of commands to their help.
func TestCommandsAreOnTheirPage(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString(`# Commands

For those who look up a command of ` + "`capstan`" + `. The page is made of what ` + "`capstan COMMAND --help`" + ` prints (` + "`make reference`" + `).
[Another page](capstan-gen.md) has those of ` + "`capstan-gen`" + `, the program of those who design APIs.

A command ends with 0; otherwise it prints one line about the mistake and its remedy, and ends with 1, or with 2 when the command line is wrong.
[Messages and what to do](messages.md) has more about them.
`)
	write(t, &b)
	docpage.Compare(t, "docs/reference/commands.md", b.String())
}

// write writes the part about a command, and those about the commands below it.
func write(t *testing.T, b *bytes.Buffer, path ...string) {
	p := helpOf(t, path...)
	if len(path) > 0 {
		fmt.Fprintf(b, "\n## capstan %s\n\n%s\n\n", strings.Join(path, " "), strings.TrimSpace(p.about))
		usage, _, _ := strings.Cut(strings.TrimSpace(p.usage), "\n")
		fmt.Fprintf(b, "    %s\n", usage)
		if p.example != "" {
			fmt.Fprintf(b, "\nExample:\n\n    %s\n", strings.ReplaceAll(strings.TrimSpace(p.example), "\n", "\n    "))
		}
	}
	switch {
	case slices.Equal(path, []string{"serve"}):
		b.WriteString("\nIts flags have [a page of their own](flags.md).\n")
	case len(path) > 0 && len(p.flags) > 0:
		b.WriteString("\n")
		flagTable(b, p.flags)
	}
	for _, c := range p.commands {
		if c.name == "help" || c.name == "completion" {
			continue // cobra's own
		}
		write(t, b, append(slices.Clone(path), c.name)...)
	}
}

func flagTable(b *bytes.Buffer, flags []row) {
	b.WriteString("| flag | meaning |\n| --- | --- |\n")
	for _, f := range flags {
		kind := ""
		if f.kind != "" {
			kind = " " + f.kind
		}
		fmt.Fprintf(b, "| `--%s`%s | %s |\n", f.name, kind, docpage.Cell(f.text))
	}
}

// TestFlagsAreOnTheirPage holds the page of the server's flags to its help, and to the flags that it accepts
// without an effect.
func TestFlagsAreOnTheirPage(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	b.WriteString(`# Flags of the server

For those who run ` + "`capstan serve`" + ` and look up a flag. The page is made of the program (` + "`make reference`" + `). Names are those of kube-apiserver 1.25
wherever it has them. [Run a server](../howto/run.md) and [secure it](../howto/secure.md) say which ones belong together.

`)
	flagTable(&b, helpOf(t, "serve").flags)
	b.WriteString("\n## Flags without effect\n\nFlags of kube-apiserver 1.25 and of releases around it that change nothing here. The server starts with the accepted ones and names them in the log.\n\n")
	b.WriteString("| flag | meaning |\n| --- | --- |\n")
	var cfg server.Config
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	cfg.AddFlags(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			fmt.Fprintf(&b, "| `--%s` | %s |\n", f.Name, docpage.Cell(effectOf(t, f.Name)))
		}
	})
	docpage.Compare(t, "docs/reference/flags.md", b.String())
}

// effectOf sets one hidden flag, and returns what the server says about it.
func effectOf(t *testing.T, name string) string {
	var cfg server.Config
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	cfg.AddFlags(flags)
	value := flags.Lookup(name).NoOptDefVal
	if value == "" {
		value = "1"
	}
	if err := flags.Set(name, value); err != nil {
		t.Fatal(err)
	}
	warnings, err := options.Check(flags)
	if err != nil {
		return "refused" + strings.TrimPrefix(err.Error(), "--"+name)
	}
	for _, w := range warnings {
		if slices.Contains(w.Flags, "--"+name) {
			return "accepted: " + w.Text
		}
	}
	return "accepted: " + flags.Lookup(name).Usage
}
