package server

import (
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/discovery"
)

// health answers one of the health endpoints (specification, "Health and
// metrics endpoints"), whole or one check of it.
func (s *Server) health(endpoint, only string) func(*request) error {
	return func(r *request) error {
		checks := s.healthChecks(endpoint)
		if only != "" {
			return s.oneCheck(r, checks, only)
		}
		r.query.get("exclude")
		lines, failed := discovery.ReportHealth(checks, r.query.values["exclude"])
		if len(failed) > 0 {
			s.log.Warn("health check failed", "endpoint", endpoint, "checks", strings.Join(failed, ","))
			return s.text(r, http.StatusInternalServerError, lines+endpoint+" check failed\n")
		}
		if !r.query.has("verbose") {
			return s.text(r, http.StatusOK, "ok")
		}
		return s.text(r, http.StatusOK, lines+endpoint+" check passed\n")
	}
}

func (s *Server) oneCheck(r *request, checks []discovery.Check, name string) error {
	for _, c := range checks {
		if c.Name != name {
			continue
		}
		if err := c.Check(); err != nil {
			return s.text(r, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
		}
		return s.text(r, http.StatusOK, "ok")
	}
	return s.text(r, http.StatusNotFound, "404 page not found\n")
}

// serveMetrics answers /metrics.
func (s *Server) serveMetrics(r *request) error {
	contentType, text, err := s.metrics.Text(r.http.Header)
	if err != nil {
		return api.Internal(err.Error())
	}
	return r.send(http.StatusOK, contentType, text)
}
