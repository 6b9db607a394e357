package authz

import (
	"context"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// AlwaysAllow allows everything.
func AlwaysAllow() Authorizer {
	return listed{
		func(context.Context, *Attributes) (Decision, string, error) { return Allow, "", nil },
		func(*authn.User) Rules { return everything() },
	}
}

// AlwaysDeny denies everything that no authorizer before it allowed.
func AlwaysDeny() Authorizer {
	return listed{
		func(context.Context, *Attributes) (Decision, string, error) {
			return NoOpinion, "Everything is forbidden.", nil
		},
		func(*authn.User) Rules { return Rules{} },
	}
}

// Masters allows the members of the group system:masters everything.
func Masters() Authorizer {
	return listed{
		func(_ context.Context, a *Attributes) (Decision, string, error) {
			if isIn(a.User, authn.GroupMasters) {
				return Allow, "", nil
			}
			return NoOpinion, "", nil
		},
		func(user *authn.User) Rules {
			if isIn(user, authn.GroupMasters) {
				return everything()
			}
			return Rules{}
		},
	}
}

func isIn(user *authn.User, group string) bool {
	return user != nil && slices.Contains(user.Groups, group)
}

// Public allows the public parts of every cluster: to everybody the three health
// endpoints and the version, to authenticated users also discovery, the published
// documents, and reviews of their own rights. These are the rights of the default roles
// system:public-info-viewer, system:discovery and system:basic-user of Kubernetes 1.25.
func Public() Authorizer {
	return listed{
		func(_ context.Context, a *Attributes) (Decision, string, error) {
			known := isIn(a.User, authn.GroupAuthenticated)
			var allowed bool
			switch {
			case a.User == nil:
			case a.ResourceRequest:
				allowed = known && a.Verb == "create" && a.Group == reviewGroup && a.Subresource == "" && slices.Contains(selfReviews, a.Resource)
			case a.Verb == "get":
				allowed = slices.Contains(publicPaths, a.Path) || known && discovery(a.Path)
			}
			if allowed {
				return Allow, "", nil
			}
			return NoOpinion, "", nil
		},
		func(user *authn.User) (r Rules) {
			get := []string{"get"}
			known := isIn(user, authn.GroupAuthenticated)
			if known {
				r.Resources = []ResourceRule{{Verbs: []string{"create"}, Groups: []string{reviewGroup}, Resources: selfReviews}}
				paths := slices.Clone(publicPaths)
				for _, root := range discoveryRoots {
					paths = append(paths, root, root+"/*")
				}
				slices.Sort(paths)
				r.Paths = []PathRule{{Verbs: get, Paths: paths}}
			}
			if known || isIn(user, authn.GroupUnauthenticated) {
				r.Paths = append(r.Paths, PathRule{Verbs: get, Paths: publicPaths})
			}
			return r
		},
	}
}

// The paths and rules of Public; never changed.
var (
	publicPaths    = []string{"/healthz", "/livez", "/readyz", "/version", "/version/"}
	discoveryRoots = []string{"/api", "/apis", "/openapi"}
	selfReviews    = []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}
)

const reviewGroup = "authorization." + profile.GroupSuffix

func discovery(path string) bool {
	for _, root := range discoveryRoots {
		if rest, ok := strings.CutPrefix(path, root); ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
