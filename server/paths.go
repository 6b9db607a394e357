package server

import (
	"net/http"

	"github.com/capstan-dev/capstan/server/internal/features"
)

// routes gives the router the few paths that are not resources.
func (s *Server) routes() http.Handler {
	rt := newRouter(s, s.discoveryAt)
	rt.more = s.openAPI3Paths
	rt.add("/metrics", target{endpoint: s.serveMetrics, ownForm: true})
	rt.add("/version", target{endpoint: s.version, open: true})
	rt.add("/version/", target{endpoint: s.version, open: true})
	rt.add("/openapi/v2", target{endpoint: s.openAPI2, ownForm: true})
	if s.features[features.OpenAPIV3] {
		rt.add("/openapi/v3", target{endpoint: s.openAPI3Index, ownForm: true})
		rt.addBelow("/openapi/", s.openAPI3At)
	}
	for _, name := range []string{"healthz", "livez", "readyz"} {
		rt.add("/"+name, target{endpoint: s.health(name, ""), open: true})
		rt.addBelow("/"+name+"/", func(check string) target {
			return target{endpoint: s.health(name, check), place: "/" + name, open: true}
		})
		for _, c := range s.healthChecks(name) {
			rt.list("/" + name + "/" + c.Name)
		}
	}
	if !s.cfg.DisableProfiling {
		rt.addBelow("/debug/", profiling)
	}
	return rt
}
