package server

import (
	"encoding/json"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
)

// index lists the paths that are no resources, for people who look around.
func (s *Server) index(paths []string) func(*request) error {
	body, err := json.MarshalIndent(map[string][]string{"paths": paths}, "", "  ")
	return func(r *request) error {
		if r.method() != http.MethodGet {
			return api.MethodNotAllowed([]string{http.MethodGet})
		}
		if err != nil {
			return err
		}
		return r.send(http.StatusOK, "application/json", body)
	}
}
