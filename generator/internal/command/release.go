package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/compat"
	"github.com/capstan-dev/capstan/generator/internal/house"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/generator/internal/site"
)

func newRelease(root string) *cobra.Command {
	var check bool
	c := &cobra.Command{
		Use: "release VERSION", Short: "Make the documents those of a release, with notes; or check a tag", Args: cobra.MaximumNArgs(1),
		Example: "capstan-gen release v0.1.0",
		Long: "Copies the documents to openapi/released and writes docs/release-VERSION.md by the report of the gate. VERSION is the tag of the\n" +
			"release, like v0.1.0, everywhere. It ends with 1, and writes nothing, when the gate or the house rules say no; with 2 when there is\n" +
			"such a version or a later one already, generated files are stale, or a file is not committed.\nWith --check it writes nothing, and ends with 1 unless the documents are those of the release VERSION.",
		RunE: func(cmd *cobra.Command, args []string) error {
			r := releasing{root: root, version: append(args, "")[0], day: time.Now().UTC(), out: cmd.OutOrStdout()}
			if !releaseForm.MatchString(r.version) {
				return fmt.Errorf("%q is not the version of a release: write one like v0.1.0 (make release VERSION=v0.1.0)", r.version)
			}
			if check {
				return r.check()
			}
			return r.make()
		},
	}
	c.Flags().BoolVar(&check, "check", false, "check that the documents are those of the release")
	return c
}

var releaseForm = regexp.MustCompile(`^v(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$`)

// releasing is a release of a project.
type releasing struct {
	root, version string
	day           time.Time
	out           io.Writer
}

func (r releasing) notesFile() string { return "docs/release-" + r.version + ".md" }

// make checks everything, and then writes the baseline and the notes.
func (r releasing) make() error {
	m, err := load.All(r.root)
	if err == nil {
		err = r.fresh(m)
	}
	if err := errors.Join(r.later(), r.committed(), err); err != nil {
		return err
	}
	if err := r.gate(m); err != nil {
		return err
	}
	notes, err := site.Notes(r.root, r.version, r.day)
	if err != nil {
		return err
	}
	if err := create(r.root, map[string]string{r.notesFile(): notes}); err != nil {
		return err
	}
	if err := compat.WriteBaseline(r.root, r.version, r.day); err != nil {
		return errors.Join(err, os.Remove(filepath.Join(r.root, filepath.FromSlash(r.notesFile()))))
	}
	_, err = fmt.Fprintf(r.out, "%s has the documents of %s, %s what changed. Read the notes and add what only you know, then:\n\n"+
		"  git add -A && git commit -m 'Release %[2]s'\n  git tag -a %[2]s -m %[2]s && git push --follow-tags\n", compat.Released, r.version, r.notesFile())
	if err == nil && r.local() {
		_, err = fmt.Fprintf(r.out, "\ngo.sum lacks %s, so that this builds with your go.work only: make tidy first.\n", capstan)
	}
	return err
}

// later refuses a version that is released or tagged, or earlier than the last one.
func (r releasing) later() error {
	known, err := compat.ReadRelease(filepath.Join(r.root, filepath.FromSlash(compat.Released)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case known.None():
	case !releaseForm.MatchString(known.Version):
		return fmt.Errorf("the last release is %s, which is not in the form of %s: write release-baseline --version for such versions", known.Version, r.version)
	case !laterThan(r.version, known.Version):
		return fmt.Errorf("the last release is %s: write a later version than that, not %s", known.Version, r.version)
	}
	if tag, err := r.git("tag", "--list", r.version); err != nil {
		return err
	} else if tag != "" {
		return fmt.Errorf("there is a tag %s already: write the next version", r.version)
	}
	return nil
}

// laterThan compares two versions in the form of releases.
func laterThan(a, b string) bool {
	x, y := releaseForm.FindStringSubmatch(a), releaseForm.FindStringSubmatch(b)
	for i := 1; i < len(x); i++ {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return m > n
		}
	}
	return false
}

// git is the output of git in the project.
func (r releasing) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.root}, args...)...).Output()
	if err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	reason := err.Error()
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		reason = strings.TrimSpace(string(ended.Stderr))
	}
	return "", fmt.Errorf("git %s: %s; a release needs a project under git: git init && git add -A && git commit", args[0], reason)
}

// committed refuses changes that no commit has: the tag would not have them.
func (r releasing) committed() error {
	changed, err := r.git("status", "--porcelain", "--", ".")
	if err == nil && changed != "" {
		return fmt.Errorf("commit first, since a release is made of a commit:\n%s", changed)
	}
	return err
}

// fresh refuses generated files that the documents would make in another way.
func (r releasing) fresh(m *model.Model) error {
	for dir, all := range emitters() {
		files, err := emitAll(m, all)
		if err != nil {
			return err
		}
		for _, f := range files {
			is, err := os.ReadFile(filepath.Join(r.root, dir, filepath.FromSlash(f.Path)))
			if err != nil || !bytes.Equal(is, f.Data) {
				return fmt.Errorf("%s/%s is not made of these documents: make generate, and commit", dir, f.Path)
			}
		}
	}
	return nil
}

// gate refuses what breaks the last release, and errors of the house rules.
func (r releasing) gate(m *model.Model) error {
	report, err := compareSides(compat.Source{Root: r.root, Now: r.day}, nil, "", r.version)
	if err != nil {
		return err
	}
	if report.Breaking() {
		return verdict{errors.Join(report.Write(r.out, "human"), errors.New("the documents break the last release, so they cannot be released: take the changes back, or accept the findings in compat.yaml"))}
	}
	style, err := judged(r.root, house.Check(m))
	if err != nil {
		return err
	}
	if style.Breaking() {
		return verdict{errors.Join(writeFindings(r.out, style, "human"), errors.New("the house rules say no: mend the documents, or accept the findings in lint.yaml"))}
	}
	return nil
}

// local reports whether the module needs a go.work.
func (r releasing) local() bool {
	sums, err := os.ReadFile(filepath.Join(r.root, "go.sum"))
	return err != nil || !bytes.Contains(sums, []byte(capstan+" v"))
}

// check refuses a tag that is not on the commit of its release.
func (r releasing) check() error {
	dir := filepath.Join(r.root, filepath.FromSlash(compat.Released))
	known, err := compat.ReadRelease(dir)
	if err != nil {
		return err
	}
	if known.Version != r.version {
		return verdict{fmt.Errorf("the documents were released as %s, and not as %s: make release VERSION=%[2]s, commit, and tag that commit", known.Version, r.version)}
	}
	if _, err := os.Stat(filepath.Join(r.root, filepath.FromSlash(r.notesFile()))); err != nil {
		return verdict{fmt.Errorf("the notes of the release are missing: %w", err)}
	}
	differing, err := compat.SinceRelease(r.root)
	if err != nil {
		return err
	}
	if differing != nil {
		return verdict{fmt.Errorf("%s changed after the release %s: make the next release, and tag its commit", strings.Join(differing, ", "), r.version)}
	}
	return nil
}
