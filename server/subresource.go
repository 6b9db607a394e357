package server

import (
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
)

// subresourceVerbs adds what can be done to a subresource.
func (s *Server) subresourceVerbs(t *target, add func(needs api.Verbs, method string, do verb)) {
	switch {
	case t.sub.Name == "status", t.sub.Name == "approval":
		add(api.VerbGet, http.MethodGet, (*Server).get)
		add(api.VerbUpdate, http.MethodPut, (*Server).update)
		add(api.VerbPatch, http.MethodPatch, (*Server).patch)
	case t.sub.Name == "finalize" && isNamespace(t.resource):
		add(api.VerbUpdate, http.MethodPut, (*Server).update) // the one way to change spec.finalizers
	case t.sub.Name == "token":
		add(api.VerbCreate, http.MethodPost, (*Server).requestToken)
	case t.sub.Name == "proxy":
		s.connectVerbs((*Server).proxy, add)
	case t.resource == s.pods:
		s.podVerbs(t.sub.Name, add)
	case t.sub.Scale != nil:
		add(api.VerbGet, http.MethodGet, (*Server).getScale)
		add(api.VerbUpdate, http.MethodPut, (*Server).updateScale)
		add(api.VerbPatch, http.MethodPatch, (*Server).patchScale)
	}
}

func (s *Server) podVerbs(name string, add func(needs api.Verbs, method string, do verb)) {
	switch name {
	case "binding":
		add(api.VerbCreate, http.MethodPost, (*Server).bindPod)
	case "eviction":
		add(api.VerbCreate, http.MethodPost, (*Server).evict)
	case "ephemeralcontainers":
		add(api.VerbGet, http.MethodGet, (*Server).get)
		add(api.VerbUpdate, http.MethodPut, (*Server).updateEphemeral)
		add(api.VerbPatch, http.MethodPatch, (*Server).patchEphemeral)
	case "log":
		add(api.VerbGet, http.MethodGet, (*Server).podLog)
	case "exec", "attach":
		s.connectVerbs((*Server).runInPod, add)
	case "portforward":
		s.connectVerbs((*Server).forwardPorts, add)
	}
}

// virtualVerbs adds the operations that have a path of their own.
func (s *Server) virtualVerbs(t *target, add func(needs api.Verbs, method string, do verb)) {
	switch t.resource.Kind {
	case "Binding":
		add(api.VerbCreate, http.MethodPost, (*Server).createBinding)
	case "TokenReview":
		add(api.VerbCreate, http.MethodPost, (*Server).reviewToken)
	case "SelfSubjectAccessReview", "SubjectAccessReview", "LocalSubjectAccessReview":
		add(api.VerbCreate, http.MethodPost, (*Server).reviewAccess)
	case "SelfSubjectRulesReview":
		add(api.VerbCreate, http.MethodPost, (*Server).reviewRules)
	}
}

// subKind is the kind of a subresource's bodies, where it has one of its own.
func subKind(t target) bodyKind {
	version := api.GroupVersion{Group: t.sub.Group, Version: t.sub.Version}
	want := bodyKind{table: t.sub.Table, typ: t.sub.Type, apiVersion: version.APIVersion(), kind: t.sub.Kind}
	if want.kind == "Eviction" {
		want.also = func(version string) bool { return version == "policy/v1beta1" } // is served no more, but clients send it
	}
	return want
}
