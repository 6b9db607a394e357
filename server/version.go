package server

import (
	"encoding/json"
	"net/http"
	"runtime"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/version"

	"github.com/capstan-dev/capstan/internal/api"
)

// The release whose API is served, as clients compare it.
const (
	apiMajor   = "1"
	apiMinor   = "25"
	apiVersion = "v1.25.16"
)

// version answers /version: the API's release, marked as Capstan's.
func (s *Server) version(r *request) error {
	if r.method() != http.MethodGet {
		return api.MethodNotAllowed([]string{http.MethodGet})
	}
	body, err := json.MarshalIndent(buildInfo(), "", "  ")
	if err != nil {
		return err
	}
	return r.send(http.StatusOK, "application/json", body)
}

// buildInfo says what is served, and what Go recorded in the binary.
func buildInfo() version.Info {
	info := version.Info{Major: apiMajor, Minor: apiMinor, GitVersion: apiVersion + "+capstan", GitTreeState: "clean",
		GoVersion: runtime.Version(), Compiler: runtime.Compiler, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range build.Settings {
			switch setting.Key {
			case "vcs.revision":
				info.GitCommit = setting.Value
			case "vcs.time":
				info.BuildDate = setting.Value
			case "vcs.modified":
				if setting.Value == "true" {
					info.GitTreeState = "dirty"
				}
			}
		}
	}
	return info
}
