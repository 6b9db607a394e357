package server

import (
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
)

// subresourceVerbs adds what can be done to a subresource. A declared verb
// without an entry here answers 405 until its behaviour exists.
func (s *Server) subresourceVerbs(t *target, add func(needs api.Verbs, method string, do verb)) {
	switch {
	case t.sub.Name == "status":
		add(api.VerbGet, http.MethodGet, (*Server).get)
		add(api.VerbUpdate, http.MethodPut, (*Server).update)
		add(api.VerbPatch, http.MethodPatch, (*Server).patch)
	case t.sub.Name == "finalize" && s.isNamespace(t.resource):
		add(api.VerbUpdate, http.MethodPut, (*Server).update) // the one way to change spec.finalizers
	case t.sub.Scale != nil:
		add(api.VerbGet, http.MethodGet, (*Server).getScale)
		add(api.VerbUpdate, http.MethodPut, (*Server).updateScale)
		add(api.VerbPatch, http.MethodPatch, (*Server).patchScale)
	}
}
