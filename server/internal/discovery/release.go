package discovery

import (
	"runtime"

	"k8s.io/apimachinery/pkg/version"

	"github.com/capstan-dev/capstan/internal/buildinfo"
)

// The release whose API is served, as clients compare it.
const (
	Major      = "1"
	Minor      = "25"
	gitVersion = "v1.25.16"
)

// Release names the release of the API, marked as Capstan's, and the sources of the
// binary.
func Release() version.Info {
	built := buildinfo.Read()
	info := version.Info{Major: Major, Minor: Minor, GitVersion: gitVersion + "+capstan", GitCommit: built.Commit, GitTreeState: "clean",
		BuildDate: built.CommitTime, GoVersion: built.Go, Compiler: runtime.Compiler, Platform: built.Platform}
	if built.Modified {
		info.GitTreeState = "dirty"
	}
	return info
}
