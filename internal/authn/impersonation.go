package authn

import (
	"net/http"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
)

// The headers of impersonation.
const (
	impersonationHeaders = "Impersonate-"
	impersonateUser      = impersonationHeaders + "User"
)

// RefuseImpersonation returns an error for a request that impersonates another user, and
// nil for all others. This server does not impersonate: an answer with the rights of the
// client itself would be wrong, so the request is a 403, and a 400 when it names no user.
//
// Header names are in the canonical form of net/http.
func RefuseImpersonation(h http.Header) error {
	for name := range h {
		if strings.HasPrefix(name, impersonationHeaders) {
			return refuseImpersonation(h)
		}
	}
	return nil
}

func refuseImpersonation(h http.Header) error {
	var names []string
	for name := range h {
		if strings.HasPrefix(name, impersonationHeaders) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	user := h.Get(impersonateUser)
	if user == "" && !slices.Equal(names, []string{impersonateUser}) {
		return api.BadRequest("the request has the header %s but names no user to act as: %s is missing or empty", names[0], impersonateUser)
	}
	return api.Forbidden(api.GroupResource{Resource: "users"}, user,
		"this server does not impersonate; send the request without the header "+impersonateUser+" and its like (kubectl: without --as, --as-group and --as-uid)")
}
