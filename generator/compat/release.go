package compat

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// Released is the folder of the last release's documents, below the root of a project.
const Released = "openapi/released"

const (
	releaseFile = "release.yaml"
	dateForm    = time.DateOnly
)

// Release is the identity of released documents, in release.yaml next to them.
type Release struct {
	Version string // "1.25", or with more digits
	Date    string // 2026-11-22
	Earlier []struct{ Version, Date string }
	// Served has the release that first served a group version, by its directory, and
	// Deprecated the one that announced the end of a resource, by directory/plural, or of an action, by directory/plural/name.
	Served     map[string]string
	Deprecated map[string]string
	// Resources, Fields and Rules are floors for the counts of a comparison with the release.
	Resources, Fields, Rules int
}

// numbers are the first two of a version.
func numbers(version string) (major, minor int) {
	parts := append(strings.Split(strings.TrimPrefix(version, "v"), "."), "0")
	major, _ = strconv.Atoi(parts[0])
	minor, _ = strconv.Atoi(strings.TrimRight(parts[1], "+"))
	return major, minor
}

// None reports whether there was no release yet: v0.0.0, which serves nothing.
func (r Release) None() bool { return r.Version == "v0.0.0" && len(r.Served) == 0 }

func (r Release) major() int { major, _ := numbers(r.Version); return major }
func (r Release) minor() int { _, minor := numbers(r.Version); return minor }

// before reports whether another version comes after the release.
func (r Release) before(version string) bool {
	major, minor := numbers(version)
	return major > r.major() || major == r.major() && minor > r.minor()
}

// releasesSince counts the minor versions after another one.
func (r Release) releasesSince(version string) int {
	major, minor := numbers(version)
	if major != r.major() {
		return (r.major() - major) * 100
	}
	return r.minor() - minor
}

func (r Release) date() time.Time {
	date, _ := time.Parse(dateForm, r.Date)
	return date
}

// dateOf is the date of the release or an earlier one.
func (r *Release) dateOf(version string) (time.Time, bool) {
	for _, e := range append(r.Earlier, struct{ Version, Date string }{r.Version, r.Date}) {
		if cmpVersion(e.Version, version) == e.Version && cmpVersion(version, e.Version) == version {
			date, err := time.Parse(dateForm, e.Date)
			return date, err == nil
		}
	}
	return time.Time{}, false
}

// ReadRelease reads the release.yaml of a folder. A folder without one is not a release.
func ReadRelease(dir string) (*Release, error) {
	path := filepath.Join(dir, releaseFile)
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	r := &Release{}
	d := yaml.NewDecoder(file)
	d.KnownFields(true)
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %s; write it with release-baseline --version VERSION", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s:1: %w", path, err)
	}
	return r, nil
}

func (r *Release) check() error {
	if !versionText(r.Version) {
		return fmt.Errorf("the version %q is not a version; write one like \"1.25\", in quotes", r.Version)
	}
	if _, err := time.Parse(dateForm, r.Date); err != nil {
		return fmt.Errorf("the date %q is not a date; write one like 2026-11-22", r.Date)
	}
	for _, e := range r.Earlier {
		if _, err := time.Parse(dateForm, e.Date); err != nil || !versionText(e.Version) {
			return fmt.Errorf("the earlier release %q of %q is not one; write a version and a date", e.Version, e.Date)
		}
		if r.before(e.Version) || e.Date > r.Date {
			return fmt.Errorf("the earlier release %s is later than %s; swap them", e.Version, r.Version)
		}
	}
	return nil
}

// sameForm is equal for versions in the same form: v1.2.3, or 1.2.
func sameForm(version string) string {
	form, _, _ := strings.Cut(version, ".")
	return strings.Trim(form, "0123456789") + strings.Repeat(".", strings.Count(version, "."))
}

func versionText(v string) bool {
	parts := strings.Split(strings.TrimPrefix(v, "v"), ".")
	for _, p := range parts {
		if n, err := strconv.Atoi(p); err != nil || n < 0 || n > 10_000 {
			return false
		}
	}
	return len(parts) >= 2 && len(parts) <= 3
}

// Baseline reads the released documents of a project. Without any the error names the group
// versions that could break unseen.
func Baseline(root string, today time.Time) (*Surface, error) {
	dir := filepath.Join(root, filepath.FromSlash(Released))
	release, err := ReadRelease(dir)
	if errors.Is(err, fs.ErrNotExist) {
		now, err := Documents(root)
		if err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s:1: there is no release to compare %s with; take it from version control, or write one with release-baseline --version VERSION",
			Released+"/"+releaseFile, list(servedDirs(now)))
	}
	if err != nil {
		return nil, err
	}
	if release.date().After(today.AddDate(0, 0, 1)) {
		return nil, fmt.Errorf("%s:1: the release %s is of %s, in the future; set the clock, or the date", Released+"/"+releaseFile, release.Version, release.Date)
	}
	if release.None() {
		now, err := load.Load(root)
		if err != nil {
			return nil, err
		}
		nothing := surfaceOf(&model.Model{Profile: now.Profile})
		nothing.Name, nothing.Release = "nothing, before the first release", release
		return nothing, nil
	}
	old, err := Documents(dir)
	if err != nil {
		return nil, fmt.Errorf("the released documents cannot be read; take them from version control:\n%w", err)
	}
	old.Name, old.Release, old.prefix = "release "+release.Version, release, Released+"/"
	return old, old.complete(Released + "/" + releaseFile)
}

// complete checks that a release has all group versions that it says it has.
func (s *Surface) complete(file string) error {
	var missing, unnamed []string
	for _, d := range sorted(s.Release.Served) {
		if v := s.find(d); v == nil || !v.Served {
			missing = append(missing, d)
		}
	}
	for _, d := range servedDirs(s) {
		if s.Release.Served[d] == "" {
			unnamed = append(unnamed, d)
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Errorf("%s:1: the baseline is not complete: %s served %s, whose documents are missing; take them from version control, or write the baseline anew with release-baseline --version VERSION", file, s.Release.Version, list(missing))
	case len(unnamed) > 0:
		return fmt.Errorf("%s:1: the baseline does not say when %s was served first; write it anew with release-baseline --version VERSION", file, list(unnamed))
	}
	return nil
}

func servedDirs(s *Surface) (dirs []string) {
	for _, v := range s.versions {
		if v.Served {
			dirs = append(dirs, v.Dir)
		}
	}
	return dirs
}
