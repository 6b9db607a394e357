package authz

import (
	"fmt"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
)

// Forbidden is the 403 of a request that was not allowed, with its user, verb and
// resource or path, and the authorizer's reason if it has one.
func Forbidden(a *Attributes, reason string) *api.Error {
	user := ""
	if a.User != nil {
		user = a.User.Name
	}
	why := fmt.Sprintf("User %q cannot %s path %q", user, a.Verb, a.Path)
	if a.ResourceRequest {
		resource := a.Resource
		if a.Subresource != "" {
			resource += "/" + a.Subresource
		}
		why = fmt.Sprintf("User %q cannot %s resource %q in API group %q", user, a.Verb, resource, a.Group)
		if a.Namespace != "" {
			why += fmt.Sprintf(" in the namespace %q", a.Namespace)
		} else {
			why += " at the cluster scope"
		}
	}
	if reason != "" {
		why += ": " + reason
	}

	e := &api.Error{Code: http.StatusForbidden, Reason: api.ReasonForbidden, HasDetails: true, Message: "forbidden: " + why}
	if !a.ResourceRequest {
		return e
	}
	e.Name, e.Group, e.Kind = a.Name, a.Group, a.Resource
	subject := api.GroupResource{Group: a.Group, Resource: a.Resource}.String()
	if a.Name != "" {
		subject += fmt.Sprintf(" %q", a.Name)
	}
	e.Message = subject + " is " + e.Message
	return e
}
