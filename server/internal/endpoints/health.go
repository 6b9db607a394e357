package endpoints

import (
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/health"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Health answers one of the health endpoints (specification, "Health and metrics
// endpoints"), whole or one check of it.
func (x *Endpoints) Health(endpoint, only string) func(*request.Request) error {
	return func(r *request.Request) error {
		checks := x.health.Checks(endpoint)
		if only != "" {
			return x.oneCheck(r, checks, only)
		}
		r.Query.Get("exclude")
		lines, failed := health.Report(checks, r.Query.Values["exclude"])
		if len(failed) > 0 {
			x.log.Warn("health check failed", "endpoint", endpoint, "checks", strings.Join(failed, ","))
			return x.env.Text(r, http.StatusInternalServerError, lines+endpoint+" check failed\n")
		}
		if !r.Query.Has("verbose") {
			return x.env.Text(r, http.StatusOK, "ok")
		}
		return x.env.Text(r, http.StatusOK, lines+endpoint+" check passed\n")
	}
}

func (x *Endpoints) oneCheck(r *request.Request, checks []health.Check, name string) error {
	for _, c := range checks {
		if c.Name != name {
			continue
		}
		if err := c.Check(); err != nil {
			return x.env.Text(r, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
		}
		return x.env.Text(r, http.StatusOK, "ok")
	}
	return x.env.Text(r, http.StatusNotFound, "404 page not found\n")
}

// ServeMetrics answers /metrics.
func (x *Endpoints) ServeMetrics(r *request.Request) error {
	contentType, text, err := x.metrics.Text(r.HTTP.Header)
	if err != nil {
		return api.Internal(err.Error())
	}
	return r.Send(http.StatusOK, contentType, text)
}
