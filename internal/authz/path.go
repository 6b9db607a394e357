package authz

import (
	"slices"
	"strings"
)

// Describe fills in the resource that a URL path names by its form alone, so
// that a request for a resource type that is not served is authorized like any
// other: who may not read pods learns nothing from asking for nosuch. It leaves
// the attributes alone, and returns false, where the path names no resource.
// The verb is the caller's.
//
//	/api/v1/namespaces/NS/pods/NAME/status      core group, namespaced
//	/apis/apps/v1/deployments                   all namespaces
//	/api/v1/namespaces/NS                       the namespace NS itself
//	/apis/apps/v1/watch/namespaces/NS/pods      the old form of watch
func (a *Attributes) Describe(path string) bool {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var group string
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		parts = parts[1:]
	case len(parts) >= 4 && parts[0] == "apis":
		group, parts = parts[1], parts[2:]
	default:
		return false
	}
	if slices.Contains(parts, "") {
		return false
	}
	version, parts := parts[0], parts[1:]
	if len(parts) > 1 && (parts[0] == "watch" || parts[0] == "proxy") {
		parts = parts[1:]
	}
	namespace := ""
	if len(parts) > 1 && parts[0] == "namespaces" {
		namespace = parts[1]
		// A third part is a resource inside the namespace, unless it is one of
		// the namespace's own subresources.
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	a.ResourceRequest = true
	a.Group, a.Version, a.Namespace = group, version, namespace
	a.Resource, a.Name, a.Subresource = parts[0], "", ""
	if len(parts) > 1 {
		a.Name = parts[1]
	}
	if len(parts) > 2 {
		a.Subresource = parts[2]
	}
	return true
}
