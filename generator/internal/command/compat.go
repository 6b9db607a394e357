package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/generator/compat"
)

// compatUsage is the help of the command.
const compatUsage = `capstan-gen compat [flags] [OLD [NEW]]

Lists the changes between two states of an API that break clients, stored objects or
promises. OLD is the last release by default, NEW the documents in the working directory.
Each is one of
  release, release:1.25    openapi/released
  git:v1.2                 the documents in a revision
  a folder                 with openapi/ and schemas/
  a file                   custom resource definitions, or an OpenAPI 3 document
  https://host:6443        a running server, with --kubeconfig
It ends with 0 if nothing breaks, 1 if something does, 2 if a side cannot be read.
`

// verdict is an error about right input: the command has done its work, and the answer is no.
type verdict struct{ error }

// Unwrap returns the mistake.
func (v verdict) Unwrap() error { return v.error }

// codeOf is the exit code for an error: 1 for a verdict, 2 for wrong documents and other
// input, and for what breaks.
func codeOf(err error) int {
	if errors.As(err, new(verdict)) {
		return 1
	}
	return 2
}

// compatCommand compares two sides.
func compatCommand(root string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("compat", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() { _, _ = fmt.Fprint(out, compatUsage+"\n"); flags.PrintDefaults() }
	format := flags.String("format", "human", "form of the report: "+strings.Join(compat.Formats(), ", "))
	config := flags.String("config", "", "file with levels of rules and accepted findings; compat.yaml if it exists")
	release := flags.String("release", "", "version that the new side will have; the next minor one after the old side")
	kubeconfig := flags.String("kubeconfig", "", "kubeconfig with the credentials for servers")
	kubecontext := flags.String("context", "", "context of the kubeconfig")
	rules := flags.Bool("rules", false, "list the rules")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	if *rules {
		return listRules(out)
	}
	source := compat.Source{Root: root, Kubeconfig: *kubeconfig, Context: *kubecontext, Now: time.Now().UTC()}
	report, err := compareSides(source, flags.Args(), *config, *release)
	if err != nil {
		return err
	}
	if err := report.Write(out, *format); err != nil {
		return err
	}
	if report.Breaking() {
		return verdict{errors.New("the new side breaks the old one: take the changes back, or make them in a new version")}
	}
	return nil
}

// readConfig reads the configuration of the gate or of lint: a named file, or the usual one if
// the project has it.
func readConfig(root, file, usual string, rules ...string) (*compat.Config, error) {
	if file == "" {
		file = filepath.Join(root, usual)
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
	}
	return compat.ReadConfig(file, rules...)
}

// compareSides opens the sides that arguments name, and compares them.
func compareSides(source compat.Source, sides []string, configFile, release string) (*compat.Report, error) {
	if len(sides) > 2 {
		return nil, fmt.Errorf("compat takes two sides: remove %q", sides[2:])
	}
	options := compat.Options{Release: release, Now: source.Now}
	config, err := readConfig(source.Root, configFile, "compat.yaml")
	if err != nil {
		return nil, err
	}
	options.Config = config
	sides = append(sides, []string{"release", source.Root}[len(sides):]...)
	ctx := context.Background()
	old, err := source.Open(ctx, sides[0])
	if err != nil {
		return nil, err
	}
	now, err := source.Open(ctx, sides[1])
	if err != nil {
		return nil, err
	}
	return compat.Compare(old, now, options), nil
}

func listRules(out io.Writer) error {
	for _, r := range compat.Rules() {
		if _, err := fmt.Fprintf(out, "%-32s %-8s %s; %s\n", r.ID, r.Level, r.Why, r.Mend); err != nil {
			return err
		}
	}
	return nil
}

// releaseBaseline replaces openapi/released by the present documents, unless they break
// the last release.
func releaseBaseline(root string, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("release-baseline", flag.ContinueOnError)
	flags.SetOutput(out)
	version := flags.String("version", "", "version of the release, like 1.26")
	date := flags.String("date", "", "date of the release, like 2026-11-22; today without it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	day := time.Now().UTC()
	if *date != "" {
		var err error
		if day, err = time.Parse(time.DateOnly, *date); err != nil {
			return fmt.Errorf("the date %q is not a date; write one like 2026-11-22", *date)
		}
	}
	if *version == "" || flags.NArg() > 0 {
		return errors.New("release-baseline needs --version, like --version 1.26, and nothing else")
	}
	if known, err := compat.ReadRelease(filepath.Join(root, filepath.FromSlash(compat.Released))); err == nil {
		report, err := compareSides(compat.Source{Root: root, Now: day}, nil, "", *version)
		if err != nil {
			return err
		}
		if report.Breaking() {
			return verdict{errors.Join(report.Write(out, "human"), fmt.Errorf("the documents break release %s, so they cannot be released: take the changes back, or accept the findings in compat.yaml", known.Version))}
		}
	}
	if err := compat.WriteBaseline(root, *version, day); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s: the documents of release %s\n", compat.Released, *version)
	return err
}
