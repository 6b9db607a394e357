package server

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// endpointVerbs is the table from the endpoints that documents name to the functions
// behind their methods. Those of the objects that they belong to are given.
func (s *Server) endpointVerbs(object front.Verbs) map[api.Endpoint]front.Verbs {
	every := func(do front.Verb) front.Verbs { return front.Verbs{do, do, do, do, do} }
	status := front.Verbs{front.OnGet: object[front.OnGet], front.OnPut: object[front.OnPut], front.OnPatch: object[front.OnPatch]}
	return map[api.Endpoint]front.Verbs{
		api.EndpointStatus:              status,
		api.EndpointApproval:            status,
		api.EndpointScale:               {front.OnGet: s.getScale, front.OnPut: s.updateScale, front.OnPatch: s.patchScale},
		api.EndpointFinalize:            {front.OnPut: object[front.OnPut]}, // the one way to change spec.finalizers
		api.EndpointEphemeralContainers: {front.OnGet: object[front.OnGet], front.OnPut: s.updateEphemeral, front.OnPatch: s.patchEphemeral},
		api.EndpointBind:                {front.OnPost: s.bind},
		api.EndpointEvict:               {front.OnPost: s.evict},
		api.EndpointRequestToken:        {front.OnPost: s.requestToken},
		api.EndpointLog:                 {front.OnGet: s.podLog},
		api.EndpointRun:                 every(s.runInPod),
		api.EndpointPortForward:         every(s.forwardPorts),
		api.EndpointProxyNode:           every(s.proxy),
		api.EndpointProxyPod:            every(s.proxy),
		api.EndpointProxyService:        every(s.proxy),
		api.EndpointReviewToken:         {front.OnPost: s.reviewToken},
		api.EndpointReviewAccess:        {front.OnPost: s.reviewAccess},
		api.EndpointReviewOwnAccess:     {front.OnPost: s.reviewAccess},
		api.EndpointReviewOwnRules:      {front.OnPost: s.reviewRules},
	}
}
