package compat

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

// WriteBaseline replaces the released documents of a project by the present ones, as a
// release. The old ones stay until the new ones are complete.
func WriteBaseline(root, version string, date time.Time) error {
	now, err := Documents(root)
	if err != nil {
		return err
	}
	release := &Release{Version: version, Date: date.Format(dateForm), Served: map[string]string{}, Deprecated: map[string]string{}}
	dir := filepath.Join(root, filepath.FromSlash(Released))
	old, err := ReadRelease(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if old != nil && old.None() {
		old = nil
	}
	if old != nil && versionText(version) && (Release{Version: version}).before(old.Version) {
		return fmt.Errorf("%s/%s:1: the last release is %s, which is later than %s; write the version of the next one", Released, releaseFile, old.Version, version)
	}
	if old != nil {
		if versionText(version) && sameForm(old.Version) != sameForm(version) {
			return fmt.Errorf("%s/%s:1: the last release is %s: write %s in the same form", Released, releaseFile, old.Version, version)
		}
		release.Earlier = slices.Insert(slices.Clone(old.Earlier), 0, struct{ Version, Date string }{old.Version, old.Date})
		release.Earlier = slices.DeleteFunc(release.Earlier, func(e struct{ Version, Date string }) bool { return e.Version == version })
	}
	if err := release.check(); err != nil {
		return err
	}
	counts := Compare(now, now, Options{}).Counts
	release.Resources, release.Fields, release.Rules = counts.Resources, counts.Fields, counts.Rules
	for _, v := range now.versions {
		if !v.Served {
			continue
		}
		release.Served[v.Dir] = version
		if old != nil && old.Served[v.Dir] != "" {
			release.Served[v.Dir] = old.Served[v.Dir]
		}
		for _, r := range v.resources {
			key := v.Dir + "/" + r.Plural
			release.announce(old, key, r.Deprecation)
			for _, s := range r.Subresources {
				if s.Action != nil {
					release.announce(old, key+"/"+s.Name, s.Action.Deprecation)
				}
			}
		}
	}
	return replaceBaseline(root, dir, release)
}

// announce notes the release that announced the end of a resource or an action. old is the release before, nil for none.
func (r *Release) announce(old *Release, key string, end model.Deprecation) {
	switch {
	case end.DeprecatedSince == "":
	case old == nil:
		r.Deprecated[key] = end.DeprecatedSince // the documents are all that is known
	case old.Deprecated[key] != "":
		r.Deprecated[key] = old.Deprecated[key]
	default:
		r.Deprecated[key] = cmpVersion(end.DeprecatedSince, r.Version)
	}
}

// replaceBaseline writes the folder next to its place, and moves it there.
func replaceBaseline(root, dir string, release *Release) (err error) {
	if err := os.MkdirAll(filepath.Join(root, ".tmp"), 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Join(root, ".tmp"), "baseline-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	fresh := filepath.Join(scratch, "new")
	for _, name := range []string{"openapi", "schemas"} {
		if err := copyDocuments(filepath.Join(root, name), filepath.Join(fresh, name)); err != nil {
			return err
		}
	}
	text, err := yaml.Marshal(release)
	if err != nil {
		return err
	}
	head := "# The released documents, which make compat compares with. Written by release-baseline.\n"
	if err := os.WriteFile(filepath.Join(fresh, releaseFile), append([]byte(head), text...), 0o644); err != nil {
		return err
	}
	if _, err := Documents(fresh); err != nil {
		return fmt.Errorf("the copied documents cannot be read:\n%w", err)
	}
	if err := os.Rename(dir, filepath.Join(scratch, "old")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(fresh, dir); err != nil {
		return errors.Join(err, os.Rename(filepath.Join(scratch, "old"), dir))
	}
	return nil
}

// copyDocuments copies the YAML files of a folder, without examples and releases.
func copyDocuments(from, to string) error {
	all, err := documentsIn(from)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path := filepath.Join(to, filepath.FromSlash(name))
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, all[name], 0o644))
	}
	return err
}

// documentsIn are the YAML files of a folder by their names in it, without examples and releases.
func documentsIn(dir string) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.IsDir() && (rel == "released" || rel == "examples") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".yaml" {
			return nil
		}
		all[filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	})
	return all, err
}

// SinceRelease lists the documents of a project that differ from those of its last release.
func SinceRelease(root string) (names []string, err error) {
	for _, folder := range []string{"openapi", "schemas"} {
		now, err := documentsIn(filepath.Join(root, folder))
		if err != nil {
			return nil, err
		}
		was, err := documentsIn(filepath.Join(root, filepath.FromSlash(Released), folder))
		if err != nil {
			return nil, err
		}
		for name, text := range now {
			if old, there := was[name]; !there || !bytes.Equal(old, text) {
				names = append(names, folder+"/"+name)
			}
			delete(was, name)
		}
		for name := range was {
			names = append(names, folder+"/"+name)
		}
	}
	slices.Sort(names)
	return names, nil
}
