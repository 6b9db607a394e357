// Package buildinfo describes the origin of a binary: version, commit, toolchain.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// The values of -ldflags "-X …buildinfo.version=…" (see the Makefile), because the Go
// tool records them only when it may call git. Empty otherwise, and never changed.
var version, commit, commitTime string

// Info is the origin of a binary.
type Info struct {
	Version    string // a tag, "v0.3.0-5-g1a2b3c4", or "(devel)" when unknown
	Commit     string // "" when unknown
	CommitTime string // RFC 3339
	Modified   bool   // the build had files that are not in the commit
	Go         string // "go1.26.8"
	Platform   string // "linux/amd64"
}

// Read collects the values of the build and those that the Go tool recorded in the
// binary.
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

// dirty ends the version of a build with uncommitted changes, as in git describe.
const dirty = "-dirty"

// given replaces values of the Go tool by those of the build.
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
