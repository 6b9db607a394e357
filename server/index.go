package server

import (
	"encoding/json"
	"net/http"
)

// index lists the paths that are no resources, for people who look around.
func (s *Server) index(paths []string) func(*request) error {
	body, err := json.MarshalIndent(map[string][]string{"paths": paths}, "", "  ")
	return func(r *request) error {
		if err != nil {
			return err
		}
		return r.send(http.StatusOK, "application/json", body)
	}
}
