package server

import (
	"net/http"

	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// routes adds the few paths that are not resources to the router.
func (s *Server) routes() http.Handler {
	rt := front.NewRouter(s.front, s.endpoints.DiscoveryAt)
	rt.More = s.endpoints.OpenAPI3Paths
	rt.Add("/metrics", front.Target{Endpoint: s.endpoints.ServeMetrics, OwnRepresentation: true})
	rt.Add("/version", front.Target{Endpoint: s.endpoints.Version, AlwaysServed: true})
	rt.Add("/version/", front.Target{Endpoint: s.endpoints.Version, AlwaysServed: true})
	rt.Add("/openapi/v2", front.Target{Endpoint: s.endpoints.OpenAPI2, OwnRepresentation: true})
	if s.features[features.OpenAPIV3] {
		rt.Add("/openapi/v3", front.Target{Endpoint: s.endpoints.OpenAPI3Index, OwnRepresentation: true})
		rt.AddBelow("/openapi/", s.endpoints.OpenAPI3At)
	}
	for _, name := range []string{"healthz", "livez", "readyz"} {
		rt.Add("/"+name, front.Target{Endpoint: s.endpoints.Health(name, ""), AlwaysServed: true})
		rt.AddBelow("/"+name+"/", func(check string) front.Target {
			return front.Target{Endpoint: s.endpoints.Health(name, check), EndpointPath: "/" + name, AlwaysServed: true}
		})
		for _, c := range s.healthChecks(name) {
			rt.List("/" + name + "/" + c.Name)
		}
	}
	rt.Add("/.well-known/openid-configuration", front.Target{Endpoint: s.endpoints.IssuerConfiguration, OwnRepresentation: true})
	rt.Add(keysPath, front.Target{Endpoint: s.endpoints.IssuerKeys, OwnRepresentation: true})
	rt.AddBelow("/debug/", s.endpoints.Debug(s.flow, !s.cfg.DisableProfiling))
	return rt
}
