package api

// Endpoint names what the server does at a subresource, or at a resource that keeps
// no objects. Documents choose one of these; the functions are in server/endpoints.go.
type Endpoint string

// The endpoints.
const (
	EndpointApproval            Endpoint = "approval"             // writes the decision in the status of a request for a certificate
	EndpointBind                Endpoint = "bind"                 // gives a pod its node
	EndpointEphemeralContainers Endpoint = "ephemeral-containers" // adds containers to a pod that runs
	EndpointEvict               Endpoint = "evict"                // deletes a pod, where its disruption budget allows it
	EndpointFinalize            Endpoint = "finalize"             // writes spec.finalizers
	EndpointLog                 Endpoint = "log"                  // text that a container wrote
	EndpointPortForward         Endpoint = "port-forward"         // leads to ports of a pod
	EndpointProxyNode           Endpoint = "proxy-node"           // leads to a node
	EndpointProxyPod            Endpoint = "proxy-pod"            // leads to a pod
	EndpointProxyService        Endpoint = "proxy-service"        // leads to a pod behind a service
	EndpointRequestToken        Endpoint = "request-token"        // issues a token for an account
	EndpointReviewAccess        Endpoint = "review-access"        // says whether somebody may do something
	EndpointReviewOwnAccess     Endpoint = "review-own-access"    // says whether the asking user may
	EndpointReviewOwnRules      Endpoint = "review-own-rules"     // lists what the asking user may
	EndpointReviewToken         Endpoint = "review-token"         // says whose token it is
	EndpointRun                 Endpoint = "run"                  // leads to a process in a container
	EndpointScale               Endpoint = "scale"                // reads and writes replicas
	EndpointStatus              Endpoint = "status"               // writes the status
)

// Endpoints are all that documents may name, in order.
func Endpoints() []Endpoint {
	return []Endpoint{EndpointApproval, EndpointBind, EndpointEphemeralContainers, EndpointEvict, EndpointFinalize, EndpointLog, EndpointPortForward,
		EndpointProxyNode, EndpointProxyPod, EndpointProxyService, EndpointRequestToken, EndpointReviewAccess, EndpointReviewOwnAccess,
		EndpointReviewOwnRules, EndpointReviewToken, EndpointRun, EndpointScale, EndpointStatus}
}

// Operates reports whether the endpoint can be a resource of its own, which keeps no
// objects. All others, and bind, are subresources.
func (e Endpoint) Operates() bool {
	switch e {
	case EndpointBind, EndpointReviewAccess, EndpointReviewOwnAccess, EndpointReviewOwnRules, EndpointReviewToken:
		return true
	}
	return false
}

// WritesStatus reports whether the endpoint writes an object's status and nothing
// else of it.
func (e Endpoint) WritesStatus() bool { return e == EndpointStatus || e == EndpointApproval }

// AnswersObject reports whether the endpoint answers with an object that is kept, or
// its scale, which tables can show.
func (e Endpoint) AnswersObject() bool {
	switch e {
	case EndpointApproval, EndpointEphemeralContainers, EndpointFinalize, EndpointScale, EndpointStatus:
		return true
	}
	return false
}

// AnswersStatus reports whether success is told by a Status: that of an order such
// as the binding of a pod.
func (e Endpoint) AnswersStatus() bool { return e == EndpointBind || e == EndpointEvict }

// Connects reports whether the endpoint leads out of the server, to what runs.
func (e Endpoint) Connects() bool { return e.Proxies() || e == EndpointRun || e == EndpointPortForward }

// Proxies reports whether any path below the endpoint belongs to it.
func (e Endpoint) Proxies() bool {
	return e == EndpointProxyNode || e == EndpointProxyPod || e == EndpointProxyService
}
