package server

import (
	"fmt"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/features"
	"github.com/capstan-dev/capstan/server/internal/front"
	"github.com/capstan-dev/capstan/server/internal/verbs"
)

// dispatch maps the HTTP methods of a target to functions.
type dispatch struct {
	object, collection, watch front.Verbs // of stored objects
	endpoints                 map[api.Endpoint]front.Verbs
}

// newDispatch makes the table.
func newDispatch(v *verbs.Verbs, x *endpoints.Endpoints) *dispatch {
	d := &dispatch{object: front.Verbs{front.OnDelete: v.Delete, front.OnGet: v.Get, front.OnPatch: v.Patch, front.OnPut: v.Update},
		collection: front.Verbs{front.OnDelete: v.DeleteCollection, front.OnGet: v.ListOrWatch, front.OnPost: v.Create}, watch: front.Verbs{front.OnGet: v.Watch}}
	d.endpoints = x.Table(d.object)
	return d
}

// The verb that a resource must have for a method.
var (
	objectNeeds     = needs{front.OnDelete: api.VerbDelete, front.OnGet: api.VerbGet, front.OnPatch: api.VerbPatch, front.OnPost: api.VerbCreate, front.OnPut: api.VerbUpdate}
	collectionNeeds = needs{front.OnDelete: api.VerbDeleteCollection, front.OnGet: api.VerbList, front.OnPost: api.VerbCreate}
	watchNeeds      = needs{front.OnGet: api.VerbWatch}
	everywhereNeeds = needs{front.OnGet: api.VerbList} // of the collections of all namespaces together
)

type needs [len(front.Verbs{})]api.Verbs

// only returns the functions that a resource with these verbs has.
func (n *needs) only(v front.Verbs, has api.Verbs) front.Verbs {
	for i, needed := range n {
		if needed == 0 || !has.Has(needed) {
			v[i] = nil
		}
	}
	return v
}

// verbsOf is the table of a target's operations.
func (d *dispatch) verbsOf(t *front.Target) front.Verbs {
	res := t.Row
	switch {
	case t.Sub != nil:
		return objectNeeds.only(d.endpoints[t.Sub.Endpoint], t.Sub.Verbs)
	case res.Endpoint != "":
		return objectNeeds.only(d.endpoints[res.Endpoint], res.Verbs)
	case t.WatchPath:
		return watchNeeds.only(d.watch, res.Verbs)
	case t.Name != "":
		return objectNeeds.only(d.object, res.Verbs)
	case res.Namespaced && t.Namespace == "":
		return everywhereNeeds.only(d.collection, res.Verbs)
	}
	return collectionNeeds.only(d.collection, res.Verbs)
}

// check finds endpoints of the catalog without a function for a verb.
func (d *dispatch) check(groups []*api.GroupVersion) error {
	check := func(where string, e api.Endpoint, has api.Verbs) error {
		functions := d.endpoints[e]
		for i, needed := range objectNeeds {
			if has.Has(needed) && functions[i] == nil {
				return fmt.Errorf("nothing answers %s on %s: the endpoint %q has no function for it; add it to server/internal/endpoints, or fix the document", front.VerbMethods[i], where, e)
			}
		}
		return nil
	}
	for _, gv := range groups {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			if res.Endpoint != "" {
				if err := check(gv.APIVersion()+" "+res.Plural, res.Endpoint, res.Verbs); err != nil {
					return err
				}
			}
			for j := range res.Subresources {
				sub := &res.Subresources[j]
				if err := check(gv.APIVersion()+" "+res.Plural+"/"+sub.Name, sub.Endpoint, sub.Verbs); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// routes adds the few paths that are not resources to the router.
func (s *Server) routes() http.Handler {
	rt := front.NewRouter(s.front, s.endpoints.DiscoveryAt, s.endpoints.OpenAPI3Paths)
	rt.Add("/metrics", front.Target{Endpoint: s.endpoints.ServeMetrics, OwnRepresentation: true, Draining: true})
	rt.Add("/version", front.Target{Endpoint: s.endpoints.Version, AlwaysServed: true})
	rt.Add("/version/", front.Target{Endpoint: s.endpoints.Version, AlwaysServed: true})
	rt.Add("/openapi/v2", front.Target{Endpoint: s.endpoints.OpenAPI2, OwnRepresentation: true})
	if s.features[features.OpenAPIV3] {
		rt.Add("/openapi/v3", front.Target{Endpoint: s.endpoints.OpenAPI3Index, OwnRepresentation: true})
		rt.AddBelow("/openapi/", s.endpoints.OpenAPI3At)
	}
	for _, name := range []string{"healthz", "livez", "readyz"} {
		rt.Add("/"+name, front.Target{Endpoint: s.endpoints.Health(name, ""), AlwaysServed: true, Draining: true})
		rt.AddBelow("/"+name+"/", func(check string) front.Target {
			return front.Target{Endpoint: s.endpoints.Health(name, check), EndpointPath: "/" + name, AlwaysServed: true, Draining: true}
		})
		for _, c := range s.healthChecks(name) {
			rt.List("/" + name + "/" + c.Name)
		}
	}
	rt.Add("/.well-known/openid-configuration", front.Target{Endpoint: s.endpoints.IssuerConfiguration, OwnRepresentation: true})
	rt.Add(endpoints.KeysPath, front.Target{Endpoint: s.endpoints.IssuerKeys, OwnRepresentation: true})
	rt.AddBelow("/debug/", s.endpoints.Debug(s.flow, !s.cfg.DisableProfiling, endpoints.NewVerbosity(s.cfg.LogLevel, s.cfg.DisableProfiling)))
	return rt
}
