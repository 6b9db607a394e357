// Package authztest is for tests of authorizers.
package authztest

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
)

// Request reads the attributes of a user's request: VERB RESOURCE[/SUBRESOURCE][.GROUP]
// [NAMESPACE/]NAME, or VERB /PATH.
func Request(user *authn.User, text string) *authz.Attributes {
	words := strings.Fields(text)
	a := &authz.Attributes{User: user, Verb: words[0]}
	if strings.HasPrefix(words[1], "/") {
		a.Path = words[1]
		return a
	}
	a.ResourceRequest = true
	resource, group, _ := strings.Cut(words[1], ".")
	a.Group = group
	a.Resource, a.Subresource, _ = strings.Cut(resource, "/")
	if len(words) > 2 {
		var local bool
		if a.Namespace, a.Name, local = strings.Cut(words[2], "/"); !local {
			a.Namespace, a.Name = "", words[2]
		}
	}
	return a
}
