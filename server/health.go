package server

import (
	"fmt"
	"net/http"
	"sort"
	"strings"
)

// healthCheck is one line of a health endpoint.
type healthCheck struct {
	name  string
	check func() error // nil error: ok
}

// healthChecks gives the checks of an endpoint: livez, readyz or healthz.
func (s *Server) healthChecks(endpoint string) []healthCheck {
	ok := func() error { return nil }
	checks := []healthCheck{{"ping", ok}, {"log", ok}}
	if endpoint != "livez" {
		checks = append(checks, healthCheck{"store", s.store.Healthy})
	}
	checks = append(checks, healthCheck{s.bootstrapped.name, func() error {
		grace := endpoint == "livez" && s.cfg.now().Before(s.started.Add(s.cfg.LivezGracePeriod))
		if !grace && !s.bootstrapped.finished() {
			return fmt.Errorf("not finished")
		}
		return nil
	}})
	if endpoint == "readyz" {
		checks = append(checks, healthCheck{"shutdown", func() error {
			if s.leaving.Load() {
				return fmt.Errorf("the server is shutting down")
			}
			return nil
		}})
	}
	return checks
}

// Live reports what /livez would find wrong; nil for a server that lives.
func (s *Server) Live() error {
	for _, c := range s.healthChecks("livez") {
		if err := c.check(); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// health answers one of the health endpoints (specification, "Health and
// metrics endpoints"), whole or one check of it.
func (s *Server) health(endpoint, only string) func(*request) error {
	return func(r *request) error {
		checks := s.healthChecks(endpoint)
		if only != "" {
			return s.oneCheck(r, checks, only)
		}
		exclude := map[string]bool{}
		r.query.get("exclude")
		for _, name := range r.query.values["exclude"] {
			exclude[name] = true
		}
		var lines strings.Builder
		var failed []string
		for _, c := range checks {
			switch {
			case exclude[c.name]:
				delete(exclude, c.name)
				fmt.Fprintf(&lines, "[+]%s excluded: ok\n", c.name)
			case c.check() != nil:
				failed = append(failed, c.name)
				fmt.Fprintf(&lines, "[-]%s failed: reason withheld\n", c.name)
			default:
				fmt.Fprintf(&lines, "[+]%s ok\n", c.name)
			}
		}
		if len(exclude) > 0 {
			var unknown []string
			for name := range exclude {
				unknown = append(unknown, fmt.Sprintf("%q", name))
			}
			sort.Strings(unknown)
			fmt.Fprintf(&lines, "warn: some health checks cannot be excluded: no matches for %s\n", strings.Join(unknown, ","))
		}
		if len(failed) > 0 {
			s.log.Warn("health check failed", "endpoint", endpoint, "checks", strings.Join(failed, ","))
			fmt.Fprintf(&lines, "%s check failed\n", endpoint)
			return s.text(r, http.StatusInternalServerError, lines.String())
		}
		if !r.query.has("verbose") {
			return s.text(r, http.StatusOK, "ok")
		}
		fmt.Fprintf(&lines, "%s check passed\n", endpoint)
		return s.text(r, http.StatusOK, lines.String())
	}
}

func (s *Server) oneCheck(r *request, checks []healthCheck, name string) error {
	for _, c := range checks {
		if c.name != name {
			continue
		}
		if err := c.check(); err != nil {
			return s.text(r, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
		}
		return s.text(r, http.StatusOK, "ok")
	}
	return s.text(r, http.StatusNotFound, "404 page not found\n")
}
