package server

import (
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
)

// subresourceVerbs adds what can be done to a subresource. A declared verb
// without an entry here answers 405 until its behaviour exists.
func (s *Server) subresourceVerbs(t target, m methods) {
	add := func(v api.Verbs, method string, do func(*request) error) {
		if t.sub.Verbs.Has(v) {
			m[method] = do
		}
	}
	switch {
	case t.sub.Name == "status":
		add(api.VerbGet, http.MethodGet, s.get)
		add(api.VerbUpdate, http.MethodPut, s.update)
		add(api.VerbPatch, http.MethodPatch, s.patch)
	case t.sub.Name == "finalize" && s.isNamespace(t.resource):
		add(api.VerbUpdate, http.MethodPut, s.update) // the one way to change spec.finalizers
	case t.sub.Scale != nil:
		add(api.VerbGet, http.MethodGet, s.getScale)
		add(api.VerbUpdate, http.MethodPut, s.updateScale)
		add(api.VerbPatch, http.MethodPatch, s.patchScale)
	}
}
