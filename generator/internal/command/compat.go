package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/compat"
)

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

// newCompat is the command that compares two sides.
func newCompat(root string) *cobra.Command {
	g := gate{root: root}
	var rules bool
	c := &cobra.Command{
		Use: "compat [OLD [NEW]]", Short: "List what breaks clients of another state of the API, by default the last release", Args: twoSides,
		Long: `Lists the changes between two states of an API that break clients, stored objects or
promises. OLD is the last release by default, NEW the documents in the working directory.
Each is one of

    release, release:1.25    openapi/released
    git:v1.2                 the documents in a revision
    a folder                 with openapi/ and schemas/
    a file                   custom resource definitions, or an OpenAPI 3 document
    https://host:6443        a running server, with --kubeconfig

With --from and --to the sides are two releases of documents with a history (openapi/releases.yaml).

It ends with 0 if nothing breaks, 1 if something does, 2 if a side cannot be read.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if rules {
				return listRules(cmd.OutOrStdout())
			}
			return g.compare(cmd.OutOrStdout(), args)
		},
	}
	formatFlag(c, &g.format)
	c.Flags().StringVar(&g.config, "config", "", "file with levels of rules and accepted findings; compat.yaml if it exists")
	c.Flags().StringVar(&g.release, "release", "", "version that the new side will have; the next minor one after the old side")
	c.Flags().StringVar(&g.kubeconfig, "kubeconfig", "", "kubeconfig with the credentials for servers")
	c.Flags().StringVar(&g.context, "context", "", "context of the kubeconfig")
	c.Flags().StringVar(&g.from, "from", "", "release of the documents that is the old side; the usual one with --to alone")
	c.Flags().StringVar(&g.to, "to", "", "release of the documents that is the new side; the usual one with --from alone")
	c.Flags().BoolVar(&rules, "rules", false, "list the rules")
	return c
}

func twoSides(_ *cobra.Command, sides []string) error {
	if len(sides) > 2 {
		return fmt.Errorf("compat takes two sides: remove %q", sides[2:])
	}
	return nil
}

// gate is a comparison with its options.
type gate struct{ root, format, config, release, kubeconfig, context, from, to string }

// compare compares two sides and writes the report.
func (g gate) compare(out io.Writer, sides []string) error {
	source := compat.Source{Root: g.root, Kubeconfig: g.kubeconfig, Context: g.context, Now: time.Now().UTC()}
	report, err := g.report(source, sides)
	if err != nil {
		return err
	}
	if err := report.Write(out, g.format); err != nil {
		return err
	}
	if report.Breaking() {
		return verdict{errors.New("the new side breaks the old one: take the changes back, or make them in a new version")}
	}
	return nil
}

func (g gate) report(source compat.Source, sides []string) (*compat.Report, error) {
	switch {
	case g.from == "" && g.to == "":
		return compareSides(source, sides, g.config, g.release)
	case len(sides) > 0:
		return nil, fmt.Errorf("--from and --to name both sides: remove %q", sides)
	}
	config, err := readConfig(source.Root, g.config, "compat.yaml")
	if err != nil {
		return nil, err
	}
	old, err := source.At(g.from)
	if err != nil {
		return nil, err
	}
	now, err := source.At(g.to)
	if err != nil {
		return nil, err
	}
	return compat.Compare(old, now, compat.Options{Config: config, Release: cmp.Or(g.release, now.Release.Version), Now: source.Now}), nil
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

func newBaseline(root string) *cobra.Command {
	var version, date string
	c := &cobra.Command{
		Use: "release-baseline --version VERSION", Short: "Copy the documents to openapi/released, at a release", Args: cobra.NoArgs,
		Long: "Replaces openapi/released by the documents, unless they break the last release. A module makes its releases by the\ncommand release, which writes notes too and overwrites nothing.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			day := time.Now().UTC()
			if date != "" {
				var err error
				if day, err = time.Parse(time.DateOnly, date); err != nil {
					return fmt.Errorf("the date %q is not a date; write one like 2026-11-22", date)
				}
			}
			if version == "" {
				return errors.New("release-baseline needs --version, like --version 1.26")
			}
			return releaseBaseline(root, version, day, cmd.OutOrStdout())
		},
	}
	c.Flags().StringVar(&version, "version", "", "version of the release, like 1.26")
	c.Flags().StringVar(&date, "date", "", "date of the release, like 2026-11-22; today without it")
	return c
}

// releaseBaseline replaces openapi/released by the present documents, unless they break
// the last release.
func releaseBaseline(root, version string, day time.Time, out io.Writer) error {
	if known, err := compat.ReadRelease(filepath.Join(root, filepath.FromSlash(compat.Released))); err == nil {
		report, err := compareSides(compat.Source{Root: root, Now: day}, nil, "", version)
		if err != nil {
			return err
		}
		if report.Breaking() {
			return verdict{errors.Join(report.Write(out, "human"), fmt.Errorf("the documents break release %s, so they cannot be released: take the changes back, or accept the findings in compat.yaml", known.Version))}
		}
	}
	if err := compat.WriteBaseline(root, version, day); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "%s: the documents of release %s\n", compat.Released, version)
	return err
}
