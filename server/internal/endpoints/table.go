package endpoints

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Table maps the endpoints in documents to the functions of their methods. object has
// those of the objects that they belong to.
func (x *Endpoints) Table(object request.Verbs) map[api.Endpoint]request.Verbs {
	every := func(do request.Verb) request.Verbs { return request.Verbs{do, do, do, do, do} }
	return map[api.Endpoint]request.Verbs{
		api.EndpointStatus:          {request.OnGet: object[request.OnGet], request.OnPut: object[request.OnPut], request.OnPatch: object[request.OnPatch]},
		api.EndpointScale:           {request.OnGet: x.getScale, request.OnPut: x.updateScale, request.OnPatch: x.patchScale},
		api.EndpointFinalize:        {request.OnPut: object[request.OnPut]}, // the only way to change spec.finalizers
		api.EndpointReviewToken:     {request.OnPost: x.reviewToken},
		api.EndpointReviewAccess:    {request.OnPost: x.reviewAccess},
		api.EndpointReviewOwnAccess: {request.OnPost: x.reviewAccess},
		api.EndpointReviewOwnRules:  {request.OnPost: x.reviewRules},
		api.EndpointReviewOwnUser:   {request.OnPost: x.reviewUser},

		api.EndpointAction:              {request.OnGet: x.act, request.OnPost: x.act},
		api.EndpointApproval:            {request.OnGet: object[request.OnGet], request.OnPut: object[request.OnPut], request.OnPatch: object[request.OnPatch]},
		api.EndpointEphemeralContainers: {request.OnGet: object[request.OnGet], request.OnPut: x.updateEphemeral, request.OnPatch: x.patchEphemeral},
		api.EndpointResize:              {request.OnGet: object[request.OnGet], request.OnPut: object[request.OnPut], request.OnPatch: object[request.OnPatch]},
		api.EndpointBind:                {request.OnPost: x.bind},
		api.EndpointEvict:               {request.OnPost: x.evict},
		api.EndpointRequestToken:        {request.OnPost: x.requestToken},
		api.EndpointLog:                 {request.OnGet: x.podLog},
		api.EndpointRun:                 every(x.runInPod),
		api.EndpointPortForward:         every(x.forwardPorts),
		api.EndpointProxyNode:           every(x.proxy),
		api.EndpointProxyPod:            every(x.proxy),
		api.EndpointProxyService:        every(x.proxy),
	}
}
