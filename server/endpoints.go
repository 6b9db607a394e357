package server

import (
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
)

// endpointVerbs is the table from the endpoints that documents name to the functions
// behind their methods; nothing for an endpoint that has none.
func endpointVerbs(e api.Endpoint) verbs {
	every := func(do verb) verbs { return verbs{do, do, do, do, do} }
	switch e {
	case api.EndpointStatus, api.EndpointApproval:
		return verbs{onGet: (*Server).get, onPut: (*Server).update, onPatch: (*Server).patch}
	case api.EndpointScale:
		return verbs{onGet: (*Server).getScale, onPut: (*Server).updateScale, onPatch: (*Server).patchScale}
	case api.EndpointFinalize:
		return verbs{onPut: (*Server).update} // the one way to change spec.finalizers
	case api.EndpointEphemeralContainers:
		return verbs{onGet: (*Server).get, onPut: (*Server).updateEphemeral, onPatch: (*Server).patchEphemeral}
	case api.EndpointBind:
		return verbs{onPost: (*Server).bind}
	case api.EndpointEvict:
		return verbs{onPost: (*Server).evict}
	case api.EndpointRequestToken:
		return verbs{onPost: (*Server).requestToken}
	case api.EndpointLog:
		return verbs{onGet: (*Server).podLog}
	case api.EndpointRun:
		return every((*Server).runInPod)
	case api.EndpointPortForward:
		return every((*Server).forwardPorts)
	case api.EndpointProxyNode, api.EndpointProxyPod, api.EndpointProxyService:
		return every((*Server).proxy)
	case api.EndpointReviewToken:
		return verbs{onPost: (*Server).reviewToken}
	case api.EndpointReviewAccess, api.EndpointReviewOwnAccess:
		return verbs{onPost: (*Server).reviewAccess}
	case api.EndpointReviewOwnRules:
		return verbs{onPost: (*Server).reviewRules}
	}
	return verbs{}
}

// only leaves those of the functions whose API verb is among has.
func (v verbs) only(has api.Verbs) verbs {
	for i, needs := range verbNeeds {
		if !has.Has(needs) {
			v[i] = nil
		}
	}
	return v
}

// checkEndpoints finds endpoints of the catalog that have no function for a verb.
func checkEndpoints(groups []*api.GroupVersion) error {
	check := func(where string, e api.Endpoint, has api.Verbs) error {
		functions := endpointVerbs(e)
		for i, needs := range verbNeeds {
			if has.Has(needs) && functions[i] == nil {
				return fmt.Errorf("nothing answers %s on %s: the endpoint %q has no function for it; add it to server/endpoints.go, or mend the document", verbMethods[i], where, e)
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

// subKind is the kind of a subresource's bodies, where it has one of its own.
func subKind(t target) bodyKind {
	version := api.GroupVersion{Group: t.sub.Group, Version: t.sub.Version}
	want := bodyKind{schema: t.resource.SchemaOf(t.sub), typ: t.sub.Type, apiVersion: version.APIVersion(), kind: t.sub.Kind}
	if also := t.sub.AlsoAccepts; also != nil {
		want.also = func(version string) bool { return slices.Contains(also, version) }
	}
	return want
}
