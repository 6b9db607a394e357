package endpoints

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/front"
)

// Table maps the endpoints in documents to the functions of their methods. object has
// those of the objects that they belong to.
func (x *Endpoints) Table(object front.Verbs) map[api.Endpoint]front.Verbs {
	every := func(do front.Verb) front.Verbs { return front.Verbs{do, do, do, do, do} }
	return map[api.Endpoint]front.Verbs{
		api.EndpointStatus:          {front.OnGet: object[front.OnGet], front.OnPut: object[front.OnPut], front.OnPatch: object[front.OnPatch]},
		api.EndpointScale:           {front.OnGet: x.getScale, front.OnPut: x.updateScale, front.OnPatch: x.patchScale},
		api.EndpointFinalize:        {front.OnPut: object[front.OnPut]}, // the only way to change spec.finalizers
		api.EndpointReviewToken:     {front.OnPost: x.reviewToken},
		api.EndpointReviewAccess:    {front.OnPost: x.reviewAccess},
		api.EndpointReviewOwnAccess: {front.OnPost: x.reviewAccess},
		api.EndpointReviewOwnRules:  {front.OnPost: x.reviewRules},
		api.EndpointReviewOwnUser:   {front.OnPost: x.reviewUser},

		api.EndpointApproval:            {front.OnGet: object[front.OnGet], front.OnPut: object[front.OnPut], front.OnPatch: object[front.OnPatch]},
		api.EndpointEphemeralContainers: {front.OnGet: object[front.OnGet], front.OnPut: x.updateEphemeral, front.OnPatch: x.patchEphemeral},
		api.EndpointBind:                {front.OnPost: x.bind},
		api.EndpointEvict:               {front.OnPost: x.evict},
		api.EndpointRequestToken:        {front.OnPost: x.requestToken},
		api.EndpointLog:                 {front.OnGet: x.podLog},
		api.EndpointRun:                 every(x.runInPod),
		api.EndpointPortForward:         every(x.forwardPorts),
		api.EndpointProxyNode:           every(x.proxy),
		api.EndpointProxyPod:            every(x.proxy),
		api.EndpointProxyService:        every(x.proxy),
	}
}
