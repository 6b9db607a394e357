package server

import (
	"encoding/json"
	"net/http"
	"runtime"

	"k8s.io/apimachinery/pkg/version"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/buildinfo"
	"github.com/capstan-dev/capstan/internal/codec"
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
	if !codec.AcceptsJSON(r.http.Header.Get("Accept")) {
		refused := api.NotAcceptableForm("only the following media types are accepted: application/json")
		refused.HasDetails = true
		return refused
	}
	body, err := json.MarshalIndent(buildInfo(), "", "  ")
	if err != nil {
		return err
	}
	return r.send(http.StatusOK, "application/json", body)
}

// buildInfo says what is served, and what the binary was built of.
func buildInfo() version.Info {
	built := buildinfo.Read()
	info := version.Info{Major: apiMajor, Minor: apiMinor, GitVersion: apiVersion + "+capstan", GitCommit: built.Commit, GitTreeState: "clean",
		BuildDate: built.CommitTime, GoVersion: built.Go, Compiler: runtime.Compiler, Platform: built.Platform}
	if built.Modified {
		info.GitTreeState = "dirty"
	}
	return info
}
