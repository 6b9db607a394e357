package discovery

import (
	"runtime"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/capstan-dev/capstan/internal/buildinfo"
)

// Usual is the release whose API is served when no other is asked for, and usualPatch its patch release. Another release
// is served as its first one, patch 0.
const (
	Usual      = "1.25"
	usualPatch = ".16"
)

// emulating is the minor number of the first release that says which release it emulates.
const emulating = 33

// Release names a release of the API, marked as Capstan's, and the sources of the binary.
func Release(release string) version.Info {
	built := buildinfo.Read()
	patch := ".0"
	if release == Usual {
		patch = usualPatch
	}
	major, minor, _ := strings.Cut(release, ".")
	info := version.Info{Major: major, Minor: minor, GitVersion: "v" + release + patch + "+capstan", GitCommit: built.Commit, GitTreeState: "clean",
		BuildDate: built.CommitTime, GoVersion: built.Go, Compiler: runtime.Compiler, Platform: built.Platform}
	if built.Modified {
		info.GitTreeState = "dirty"
	}
	if n, err := strconv.Atoi(minor); err == nil && n >= emulating {
		info.EmulationMajor, info.EmulationMinor = major, minor
		info.MinCompatibilityMajor, info.MinCompatibilityMinor = major, strconv.Itoa(n-1)
	}
	return info
}
