// Package buildinfo says what a binary was built of.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// What the build gives with -ldflags "-X …buildinfo.version=…" (see the Makefile),
// because the Go tool records it only when it may ask git. Empty otherwise, and
// never changed.
var version, commit, commitTime string

// Info is what a binary was built of and by.
type Info struct {
	Version    string // a tag, "v0.3.0-5-g1a2b3c4", or "(devel)" when nothing is known
	Commit     string // "" when it is not known
	CommitTime string // RFC 3339
	Modified   bool   // of files that are not in the commit
	Go         string // "go1.26.8"
	Platform   string // "linux/amd64"
}

// Read collects what the build gave and what the Go tool recorded in the binary.
func Read() Info {
	i := Info{Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if recorded, ok := debug.ReadBuildInfo(); ok {
		i.Version = recorded.Main.Version
		for _, s := range recorded.Settings {
			switch s.Key {
			case "vcs.revision":
				i.Commit = s.Value
			case "vcs.time":
				i.CommitTime = s.Value
			case "vcs.modified":
				i.Modified = s.Value == "true"
			}
		}
	}
	return i.given(version, commit, commitTime)
}

// dirty ends the version of a build of files that are not in the commit, as git
// describe writes it.
const dirty = "-dirty"

// given replaces what the Go tool recorded by what the build gave.
func (i Info) given(version, commit, commitTime string) Info {
	if version != "" {
		n := len(version) - len(dirty)
		i.Version, i.Modified = version, n > 0 && version[n:] == dirty
	}
	if commit != "" {
		i.Commit, i.CommitTime = commit, commitTime
	}
	if i.Version == "" {
		i.Version = "(devel)"
	}
	return i
}
