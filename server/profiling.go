package server

import (
	"net/http"
	"net/http/pprof"

	"github.com/labstack/echo/v4"
)

// profiling serves Go's profiles below /debug/pprof/ to those who may read it.
func (s *Server) profiling(e *echo.Echo) {
	if s.cfg.DisableProfiling {
		return
	}
	add := func(path string, h http.HandlerFunc) {
		e.Any(path, func(c echo.Context) error {
			return s.serve(c, target{endpoint: func(r *request) error {
				r.status = http.StatusOK
				h(r.w, r.http)
				return nil
			}, place: "/debug", ownForm: true, unbounded: true})
		})
	}
	add("/debug/pprof/", pprof.Index)
	add("/debug/pprof/:profile", pprof.Index)
	add("/debug/pprof/cmdline", pprof.Cmdline)
	add("/debug/pprof/profile", pprof.Profile)
	add("/debug/pprof/symbol", pprof.Symbol)
	add("/debug/pprof/trace", pprof.Trace)
}
