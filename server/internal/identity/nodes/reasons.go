package nodes

import (
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/internal/authz"
)

// The reasons against a request; "" if it is allowed.

// refused is a reason that nobody is shown.
const refused = "\x00"

// reaches requires a way from the node to the object of the request.
func (a *Authorizer) reaches(node string, k kind, r *authz.Attributes) string {
	if a.graph.has(target{k, r.Namespace, r.Name}, node) {
		return ""
	}
	return "no relationship found between node '" + node + "' and this object"
}

func (a *Authorizer) named(node string, k kind, r *authz.Attributes) string {
	if r.Name == "" {
		return "No Object name found"
	}
	return a.reaches(node, k, r)
}

// mayRead is about a secret or a config map, also as a list of one.
func (a *Authorizer) mayRead(node string, k kind, r *authz.Attributes) string {
	switch r.Verb {
	case "get", "list", "watch":
	default:
		return "can only read resources of this type"
	}
	switch {
	case r.Subresource != "":
		return "cannot read subresource"
	case r.Namespace == "":
		return "can only read namespaced object of this type"
	}
	return a.named(node, k, r)
}

func (a *Authorizer) mayGet(node string, k kind, r *authz.Attributes) string {
	switch {
	case r.Verb != "get":
		return "can only get individual resources of this type"
	case r.Subresource != "":
		return "cannot get subresource"
	}
	return a.named(node, k, r)
}

// mayUpdateStatus is about the status of a claim.
func (a *Authorizer) mayUpdateStatus(node string, r *authz.Attributes) string {
	if r.Verb != "update" && r.Verb != "patch" {
		return "can only get/update/patch this type"
	}
	return a.named(node, claim, r)
}

// mayUseAccount is about a service account, which agents may read for their credential providers and for certificates of pods.
func (a *Authorizer) mayUseAccount(node string, r *authz.Attributes) string {
	switch {
	case r.Verb != "get" || r.Subresource != "" || !a.release.Has("1.33"):
		return a.mayCreateToken(node, r)
	case a.release.Has("1.33", "KubeletServiceAccountTokenForCredentialProviders"), a.release.Has("1.34", "PodCertificateRequest"):
		return a.mayRead(node, account, r)
	}
	return "not allowed to get service accounts"
}

func (a *Authorizer) mayCreateToken(node string, r *authz.Attributes) string {
	switch {
	case r.Verb != "create" || r.Name == "":
		return "can only create tokens for individual service accounts"
	case r.Subresource != "token":
		return "can only create token subresource of serviceaccount"
	}
	return a.reaches(node, account, r)
}

// ownVerb reports whether a verb is among those for objects that represent a node. The
// name is not known on create: the admission plug-in NodeRestriction checks it.
func ownVerb(verb string) bool {
	switch verb {
	case "get", "create", "update", "patch", "delete":
		return true
	}
	return false
}

func mayUseLease(node string, r *authz.Attributes) string {
	switch {
	case !ownVerb(r.Verb):
		return "can only get, create, update, patch, or delete a node lease"
	case r.Namespace != leases:
		return fmt.Sprintf("can only access leases in the %q system namespace", leases)
	case r.Verb != "create" && r.Name != node:
		return "can only access node lease with the same name as the requesting node"
	}
	return ""
}

func mayUseCSINode(node string, r *authz.Attributes) string {
	switch {
	case !ownVerb(r.Verb):
		return "can only get, create, update, patch, or delete a CSINode"
	case r.Subresource != "":
		return "cannot authorize CSINode subresources"
	case r.Verb != "create" && r.Name != node:
		return "can only access CSINode with the same name as the requesting node"
	}
	return ""
}

// mayUseNode is about nodes, where an agent reads its own only. The admission plug-in NodeRestriction says which it may write.
func mayUseNode(node string, r *authz.Attributes) string {
	switch r.Subresource + " " + r.Verb {
	case " create", " update", " patch", "status update", "status patch":
		return ""
	case " get", " list", " watch":
		switch r.Name {
		case node:
			return ""
		case "":
			return "node '" + node + "' cannot read all nodes, only its own Node object"
		}
		return "node '" + node + "' cannot read '" + r.Name + "', only its own Node object"
	}
	return refused
}

// mayUsePod is about pods, where an agent reads those on its node only. The admission plug-in NodeRestriction says which it may write.
func (a *Authorizer) mayUsePod(node string, r *authz.Attributes) string {
	switch r.Subresource + " " + r.Verb {
	case " create", " delete", "status update", "status patch", "eviction create":
		return ""
	case " get":
		return a.mayGet(node, pod, r)
	case " list", " watch":
		switch {
		case selectsNode(node, "spec.nodeName", r):
			return ""
		case r.Name != "":
			return a.named(node, pod, r)
		}
		return "can only list/watch pods with spec.nodeName field selector"
	}
	return refused
}

// selectsNode reports whether the field selector of a request asks for objects of a node only.
func selectsNode(node, field string, r *authz.Attributes) bool {
	return slices.ContainsFunc(r.Fields, func(of authz.Requirement) bool {
		return of.Key == field && of.Operator == "In" && slices.Equal(of.Values, []string{node})
	})
}

// mayUseSlice is about slices of devices, of which an agent uses those of its node. The admission plug-in NodeRestriction says which
// it may create.
func (a *Authorizer) mayUseSlice(node string, r *authz.Attributes) string {
	if r.Subresource != "" {
		return "cannot authorize ResourceSlice subresources"
	}
	switch r.Verb {
	case "create":
		return ""
	case "get", "update", "patch", "delete":
		return a.named(node, slice, r)
	case "watch", "list", "deletecollection":
		if !a.ownOnly || selectsNode(node, "spec.nodeName", r) {
			return ""
		}
		return "can only list/watch/deletecollection resourceslices with nodeName field selector"
	}
	return "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection"
}

// mayUseOldSlice is mayUseSlice of 1.30.
func (a *Authorizer) mayUseOldSlice(node string, r *authz.Attributes) string {
	switch {
	case r.Subresource == "" && (r.Verb == "watch" || r.Verb == "list"):
		return ""
	case r.Subresource == "" && !ownVerb(r.Verb):
		return "can only get, create, update, patch, or delete a ResourceSlice"
	}
	return a.mayUseSlice(node, r)
}

// mayUseRequest is about requests for certificates of pods, of which an agent reads those of its node. The admission plug-in
// NodeRestriction says which it may create.
func (a *Authorizer) mayUseRequest(node string, r *authz.Attributes) string {
	switch {
	case !a.ownOnly || !a.release.Has("1.34", "PodCertificateRequest"):
		return refused
	case r.Subresource != "":
		return "nodes may not access the status subresource of PodCertificateRequests"
	}
	switch r.Verb {
	case "create":
		return ""
	case "get":
		return a.named(node, certified, r)
	case "list", "watch":
		if selectsNode(node, "spec.nodeName", r) {
			return ""
		}
		return "can only list/watch podcertificaterequests with nodeName field selector"
	}
	return "nodes may not " + r.Verb + " podcertificaterequests"
}
