package main

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// origin is the commit that a release is made of.
type origin struct {
	// version is that of the binary, and semantic the same in the form of semantic versions.
	version, semantic string
	commit            string
	time              time.Time
}

var (
	described = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)(-[0-9A-Za-z.]+)??(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)
	commitish = regexp.MustCompile(`^([0-9a-f]{7,40})(-dirty)?$`)
)

// newOrigin reads what git describe says of a commit. A commit behind a tag is later than the tag, and one without a
// tag earlier than every release; among these the time decides.
func newOrigin(version, commit, committed string) (origin, error) {
	at, err := time.Parse(time.RFC3339, committed)
	if err != nil {
		return origin{}, fmt.Errorf("the time of the commit: %w", err)
	}
	o := origin{version: version, commit: commit, time: at.UTC()}
	if m := described.FindStringSubmatch(version); m != nil {
		o.semantic = m[1] + m[2]
		var behind []string
		if m[3] != "" {
			behind = append(behind, m[3], "g"+m[4])
		}
		if m[5] != "" {
			behind = append(behind, "dirty")
		}
		if len(behind) > 0 {
			o.semantic += "+" + strings.Join(behind, ".")
		}
		return o, nil
	}
	m := commitish.FindStringSubmatch(version)
	if m == nil {
		return origin{}, fmt.Errorf("version %q: tag the release as v1.2.3", version)
	}
	o.semantic = "0.0.0-git" + o.time.Format("20060102150405") + "." + m[1]
	if m[2] != "" {
		o.semantic += ".dirty"
	}
	return o, nil
}

// packaged is the version in the form of dpkg and rpm, which both order a part behind a tilde before all others.
func (o origin) packaged() string {
	release, metadata, _ := strings.Cut(o.semantic, "+")
	release = strings.ReplaceAll(strings.Replace(release, "-", "~", 1), "-", ".")
	if metadata != "" {
		release += "+" + metadata
	}
	return release
}
