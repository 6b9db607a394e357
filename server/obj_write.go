package server

import (
	"github.com/capstan-dev/capstan/internal/api"
)

// does is the endpoint of a subresource or of an operation; "" for objects that are
// kept.
func (t *ref) does() api.Endpoint {
	if t.sub != nil {
		return t.sub.Endpoint
	}
	return t.resource.Endpoint
}

// writesStatus reports whether the target is an endpoint that writes an object's
// status and nothing else of it.
func (t *ref) writesStatus() bool { return t.sub != nil && t.sub.Endpoint.WritesStatus() }
