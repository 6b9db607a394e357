package server

import (
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// health answers one of the health endpoints (specification, "Health and
// metrics endpoints"), whole or one check of it.
func (s *Server) health(endpoint, only string) func(*front.Request) error {
	return func(r *front.Request) error {
		checks := s.healthChecks(endpoint)
		if only != "" {
			return s.oneCheck(r, checks, only)
		}
		r.Query.Get("exclude")
		lines, failed := discovery.ReportHealth(checks, r.Query.Values["exclude"])
		if len(failed) > 0 {
			s.log.Warn("health check failed", "endpoint", endpoint, "checks", strings.Join(failed, ","))
			return s.front.Text(r, http.StatusInternalServerError, lines+endpoint+" check failed\n")
		}
		if !r.Query.Has("verbose") {
			return s.front.Text(r, http.StatusOK, "ok")
		}
		return s.front.Text(r, http.StatusOK, lines+endpoint+" check passed\n")
	}
}

func (s *Server) oneCheck(r *front.Request, checks []discovery.Check, name string) error {
	for _, c := range checks {
		if c.Name != name {
			continue
		}
		if err := c.Check(); err != nil {
			return s.front.Text(r, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
		}
		return s.front.Text(r, http.StatusOK, "ok")
	}
	return s.front.Text(r, http.StatusNotFound, "404 page not found\n")
}

// serveMetrics answers /metrics.
func (s *Server) serveMetrics(r *front.Request) error {
	contentType, text, err := s.metrics.Text(r.HTTP.Header)
	if err != nil {
		return api.Internal(err.Error())
	}
	return r.Send(http.StatusOK, contentType, text)
}
