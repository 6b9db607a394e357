package server

import (
	"runtime"

	"k8s.io/apimachinery/pkg/version"

	"github.com/capstan-dev/capstan/internal/buildinfo"
)

// The release whose API is served, as clients compare it.
const (
	apiMajor   = "1"
	apiMinor   = "25"
	apiVersion = "v1.25.16"
)

// buildInfo names the release of the API, marked as Capstan's, and the sources of the
// binary.
func buildInfo() version.Info {
	built := buildinfo.Read()
	info := version.Info{Major: apiMajor, Minor: apiMinor, GitVersion: apiVersion + "+capstan", GitCommit: built.Commit, GitTreeState: "clean",
		BuildDate: built.CommitTime, GoVersion: built.Go, Compiler: runtime.Compiler, Platform: built.Platform}
	if built.Modified {
		info.GitTreeState = "dirty"
	}
	return info
}
