package server

import "github.com/capstan-dev/capstan/internal/api"

// endpointVerbs is the table from the endpoints that documents name to the functions
// behind their methods. Those of the objects that they belong to are given.
func (s *Server) endpointVerbs(object verbs) map[api.Endpoint]verbs {
	every := func(do verb) verbs { return verbs{do, do, do, do, do} }
	status := verbs{onGet: object[onGet], onPut: object[onPut], onPatch: object[onPatch]}
	return map[api.Endpoint]verbs{
		api.EndpointStatus:              status,
		api.EndpointApproval:            status,
		api.EndpointScale:               {onGet: s.getScale, onPut: s.updateScale, onPatch: s.patchScale},
		api.EndpointFinalize:            {onPut: object[onPut]}, // the one way to change spec.finalizers
		api.EndpointEphemeralContainers: {onGet: object[onGet], onPut: s.updateEphemeral, onPatch: s.patchEphemeral},
		api.EndpointBind:                {onPost: s.bind},
		api.EndpointEvict:               {onPost: s.evict},
		api.EndpointRequestToken:        {onPost: s.requestToken},
		api.EndpointLog:                 {onGet: s.podLog},
		api.EndpointRun:                 every(s.runInPod),
		api.EndpointPortForward:         every(s.forwardPorts),
		api.EndpointProxyNode:           every(s.proxy),
		api.EndpointProxyPod:            every(s.proxy),
		api.EndpointProxyService:        every(s.proxy),
		api.EndpointReviewToken:         {onPost: s.reviewToken},
		api.EndpointReviewAccess:        {onPost: s.reviewAccess},
		api.EndpointReviewOwnAccess:     {onPost: s.reviewAccess},
		api.EndpointReviewOwnRules:      {onPost: s.reviewRules},
	}
}
