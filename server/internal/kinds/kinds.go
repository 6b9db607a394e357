// Package kinds has facts about built-in kinds that their rules and other rooms share.
package kinds

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// LocalService is the condition of an API service of this server itself.
var LocalService = api.Condition{Type: "Available", Status: "True", Reason: "Local", Message: "Local APIServices are always available"}

// NeedsNodePort reports whether the ports of a type of service are open on every node.
func NeedsNodePort(serviceType string) bool {
	return serviceType == "NodePort" || serviceType == "LoadBalancer"
}

// NeedsHealthCheck reports whether a load balancer has to ask each node whether it has
// pods of a service.
func NeedsHealthCheck(spec document.Value) bool {
	return spec.Get("type").Equals("LoadBalancer") && spec.Get("externalTrafficPolicy").Equals("Local")
}
