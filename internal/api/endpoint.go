package api

// Endpoint names the implementation of a subresource, or of a resource that stores no
// objects. Documents choose one of these; the functions are in server/internal/endpoints/table.go.
type Endpoint string

// The endpoints.
const (
	EndpointAction              Endpoint = "action"               // what the code of a module does, see Action
	EndpointApproval            Endpoint = "approval"             // writes the decision in the status of a certificate signing request
	EndpointBind                Endpoint = "bind"                 // gives a pod its node
	EndpointEphemeralContainers Endpoint = "ephemeral-containers" // adds containers to a running pod
	EndpointEvict               Endpoint = "evict"                // deletes a pod, if its disruption budget allows it
	EndpointFinalize            Endpoint = "finalize"             // writes spec.finalizers
	EndpointLog                 Endpoint = "log"                  // the output of a container
	EndpointPortForward         Endpoint = "port-forward"         // connects to ports of a pod
	EndpointProxyNode           Endpoint = "proxy-node"           // connects to a node
	EndpointProxyPod            Endpoint = "proxy-pod"            // connects to a pod
	EndpointProxyService        Endpoint = "proxy-service"        // connects to a pod behind a service
	EndpointRequestToken        Endpoint = "request-token"        // issues a token for an account
	EndpointResize              Endpoint = "resize"               // changes the resources of a running pod
	EndpointReviewAccess        Endpoint = "review-access"        // reports whether a user may do something
	EndpointReviewOwnAccess     Endpoint = "review-own-access"    // reports whether the requesting user may
	EndpointReviewOwnRules      Endpoint = "review-own-rules"     // lists the rights of the requesting user
	EndpointReviewOwnUser       Endpoint = "review-own-user"      // reports the requesting user
	EndpointReviewToken         Endpoint = "review-token"         // reports the user of a token
	EndpointRun                 Endpoint = "run"                  // connects to a process in a container
	EndpointScale               Endpoint = "scale"                // reads and writes replicas
	EndpointStatus              Endpoint = "status"               // writes the status
)

// Endpoints are all endpoints that documents name, in order.
func Endpoints() []Endpoint {
	return []Endpoint{EndpointApproval, EndpointBind, EndpointEphemeralContainers, EndpointEvict, EndpointFinalize, EndpointLog, EndpointPortForward,
		EndpointProxyNode, EndpointProxyPod, EndpointProxyService, EndpointRequestToken, EndpointResize, EndpointReviewAccess,
		EndpointReviewOwnAccess, EndpointReviewOwnRules, EndpointReviewOwnUser, EndpointReviewToken, EndpointRun, EndpointScale, EndpointStatus}
}

// Operates reports whether the endpoint can be a resource of its own, which stores no
// objects. All others, and bind and action, are subresources.
func (e Endpoint) Operates() bool {
	switch e {
	case EndpointAction, EndpointBind, EndpointReviewAccess, EndpointReviewOwnAccess, EndpointReviewOwnRules, EndpointReviewOwnUser, EndpointReviewToken:
		return true
	}
	return false
}

// WritesWhole reports whether the endpoint writes all of an object, its status too.
func (e Endpoint) WritesWhole() bool { return e == EndpointAction }

// WritesStatus reports whether the endpoint writes only an object's status.
func (e Endpoint) WritesStatus() bool { return e == EndpointStatus || e == EndpointApproval }

// AnswersObject reports whether the endpoint answers with a stored object, or its scale,
// which tables can show.
func (e Endpoint) AnswersObject() bool {
	switch e {
	case EndpointApproval, EndpointEphemeralContainers, EndpointFinalize, EndpointResize, EndpointScale, EndpointStatus:
		return true
	}
	return false
}

// AnswersStatus reports whether the endpoint answers success with a Status, like the
// binding of a pod.
func (e Endpoint) AnswersStatus() bool { return e == EndpointBind || e == EndpointEvict }

// Connects reports whether the endpoint connects to a process outside of the server.
func (e Endpoint) Connects() bool { return e.Proxies() || e == EndpointRun || e == EndpointPortForward }

// Proxies reports whether any path below the endpoint belongs to it.
func (e Endpoint) Proxies() bool {
	return e == EndpointProxyNode || e == EndpointProxyPod || e == EndpointProxyService
}
