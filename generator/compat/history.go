package compat

import (
	"cmp"
	"errors"
	"time"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// At is the surface of one release of the documents of the project (openapi/releases.yaml).
func (s Source) At(release string) (*Surface, error) {
	m, err := load.At(s.Root, release)
	if err != nil {
		return nil, err
	}
	if m.Releases.Now == "" {
		return nil, errors.New("openapi/releases.yaml:1: the project names no releases; add it, with releases: a list of them, oldest first")
	}
	return ReleaseOf(m, s.Now), nil
}

// ReleaseOf is the surface of documents in the release that they were read for. Its deprecations are those that the
// documents say, and its date and those of earlier releases too; today is that of a release without one.
func ReleaseOf(m *model.Model, today time.Time) *Surface {
	release := m.Releases.Now
	surface := surfaceOf(m)
	surface.Name = "release " + release
	known := &Release{Version: release, Date: cmp.Or(m.Releases.Dates[release], today.Format(dateForm))}
	for _, version := range sorted(m.Releases.Dates) {
		if versionText(version) && known.before(version) || version == release {
			continue
		}
		known.Earlier = append(known.Earlier, struct{ Version, Date string }{version, m.Releases.Dates[version]})
	}
	surface.Release = known
	return surface
}
