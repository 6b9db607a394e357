package endpoints

import (
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// Health answers one of the health endpoints (specification, "Health and metrics
// endpoints"), whole or one check of it.
func (x *Endpoints) Health(endpoint, only string) func(*front.Request) error {
	return func(r *front.Request) error {
		checks := x.checks(endpoint)
		if only != "" {
			return x.oneCheck(r, checks, only)
		}
		r.Query.Get("exclude")
		lines, failed := discovery.ReportHealth(checks, r.Query.Values["exclude"])
		if len(failed) > 0 {
			x.log.Warn("health check failed", "endpoint", endpoint, "checks", strings.Join(failed, ","))
			return x.front.Text(r, http.StatusInternalServerError, lines+endpoint+" check failed\n")
		}
		if !r.Query.Has("verbose") {
			return x.front.Text(r, http.StatusOK, "ok")
		}
		return x.front.Text(r, http.StatusOK, lines+endpoint+" check passed\n")
	}
}

func (x *Endpoints) oneCheck(r *front.Request, checks []discovery.Check, name string) error {
	for _, c := range checks {
		if c.Name != name {
			continue
		}
		if err := c.Check(); err != nil {
			return x.front.Text(r, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
		}
		return x.front.Text(r, http.StatusOK, "ok")
	}
	return x.front.Text(r, http.StatusNotFound, "404 page not found\n")
}

// ServeMetrics answers /metrics.
func (x *Endpoints) ServeMetrics(r *front.Request) error {
	contentType, text, err := x.metrics.Text(r.HTTP.Header)
	if err != nil {
		return api.Internal(err.Error())
	}
	return r.Send(http.StatusOK, contentType, text)
}
