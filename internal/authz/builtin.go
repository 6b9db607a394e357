package authz

import (
	"context"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/authn"
)

// AlwaysAllow lets everything through.
func AlwaysAllow() Authorizer {
	return Func(func(context.Context, *Attributes) (Decision, string, error) { return Allow, "", nil })
}

// AlwaysDeny lets nothing through that no authorizer before it allowed.
func AlwaysDeny() Authorizer {
	return Func(func(context.Context, *Attributes) (Decision, string, error) {
		return NoOpinion, "Everything is forbidden.", nil
	})
}

// Masters allows the members of the group system:masters everything.
func Masters() Authorizer {
	return Func(func(_ context.Context, a *Attributes) (Decision, string, error) {
		if a.User != nil && slices.Contains(a.User.Groups, authn.GroupMasters) {
			return Allow, "", nil
		}
		return NoOpinion, "", nil
	})
}

// Public allows what every cluster shows: to everybody the three health
// endpoints and the version, to the authenticated also discovery and the
// published documents. These are the rights that the default roles
// system:public-info-viewer and system:discovery of Kubernetes 1.25 give.
func Public() Authorizer {
	return Func(func(_ context.Context, a *Attributes) (Decision, string, error) {
		if a.ResourceRequest || a.Verb != "get" || a.User == nil {
			return NoOpinion, "", nil
		}
		if publicInfo(a.Path) || discovery(a.Path) && slices.Contains(a.User.Groups, authn.GroupAuthenticated) {
			return Allow, "", nil
		}
		return NoOpinion, "", nil
	})
}

func publicInfo(path string) bool {
	switch path {
	case "/healthz", "/livez", "/readyz", "/version", "/version/":
		return true
	}
	return false
}

func discovery(path string) bool {
	for _, root := range [...]string{"/api", "/apis", "/openapi"} {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
