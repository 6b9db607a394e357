package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// headless is the cluster IP of a service without one.
const headless = "None"

// The needs of the types of services.
func needsClusterIP(kind string) bool { return kind != "ExternalName" }

// DefaultServicePort sets the target port to the port.
func (Policy) DefaultServicePort(port document.Value) {
	target := port.Get("targetPort")
	if number(target) == 0 && target.Text() == "" {
		port.SetInt("targetPort", number(port.Get("port")))
	}
}

// external reports whether a service of the cluster is reached from outside by addresses of its own, which counts from 1.29.
func (p Policy) external(spec document.Value) bool {
	return p.since("1.29") && spec.Get("type").Equals("ClusterIP") && spec.Get("externalIPs").Len() > 0
}

// DefaultServiceSpec drops the settings of an unused affinity, and sets the policy of traffic from outside.
func (p Policy) DefaultServiceSpec(spec document.Value) {
	if p.external(spec) {
		defaultString(spec, "externalTrafficPolicy", "Cluster")
	}
	if spec.Get("sessionAffinity").Equals("None") {
		spec.Remove("sessionAffinityConfig")
	}
}

// CreateService initialises a service. A given address is written in all its fields;
// missing ones are allocated later.
func (Policy) CreateService(obj document.Value) {
	obj.SetObject("status").SetObject("loadBalancer")
	forgetPolicy(obj.Get("spec"))
	tellClusterIP(obj.Get("spec"))
}

// forgetPolicy drops the policy of traffic inside the cluster if the type has none.
func forgetPolicy(spec document.Value) {
	if policy := spec.Get("internalTrafficPolicy"); !needsClusterIP(spec.Get("type").Text()) && (policy.Equals("Cluster") || policy.Equals("Local")) {
		spec.Remove("internalTrafficPolicy")
	}
}

// tellClusterIP writes a given address in all its fields.
func tellClusterIP(spec document.Value) {
	if ip := spec.Get("clusterIP").Text(); ip != "" && isEmpty(spec.Get("clusterIPs")) {
		setClusterIP(spec, ip)
	}
}

func setClusterIP(spec document.Value, ip string) {
	spec.Remove("clusterIPs")
	spec.SetArray("clusterIPs").AppendString(ip)
}

// UpdateService keeps the addresses and ports of the service while its type needs them,
// and drops the others.
func (p Policy) UpdateService(obj, old document.Value) {
	spec, before := obj.Get("spec"), old.Get("spec")
	kind, was := spec.Get("type").Text(), before.Get("type").Text()
	switch {
	case needsClusterIP(kind) && needsClusterIP(was):
		keepClusterIPs(spec, before)
	case needsClusterIP(was):
		for _, name := range [...]string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
			dropUnchanged(spec, before, name)
		}
	}
	tellClusterIP(spec)
	switch {
	case kinds.NeedsNodePort(kind) && kinds.NeedsNodePort(was):
		keepNodePorts(spec.Get("ports"), before.Get("ports"))
	case kinds.NeedsNodePort(was):
		dropNodePorts(spec.Get("ports"), before.Get("ports"))
	}
	if (kinds.NeedsNodePort(was) || p.external(before)) && !kinds.NeedsNodePort(kind) && !p.external(spec) {
		dropUnchanged(spec, before, "externalTrafficPolicy")
	}
	forgetPolicy(spec)
	if kind != "LoadBalancer" && !isEmpty(obj.At("status", "loadBalancer")) {
		obj.Get("status").Remove("loadBalancer") // the load balancer's
		obj.Get("status").SetObject("loadBalancer")
	}
	switch {
	case kinds.NeedsHealthCheck(spec) && kinds.NeedsHealthCheck(before):
		if port := before.Get("healthCheckNodePort"); port.Exists() && number(spec.Get("healthCheckNodePort")) == 0 {
			spec.Put("healthCheckNodePort", port)
		}
	case kinds.NeedsHealthCheck(before):
		dropUnchanged(spec, before, "healthCheckNodePort")
	}
	if was == "LoadBalancer" && kind != was {
		dropUnchanged(spec, before, "allocateLoadBalancerNodePorts")
		dropUnchanged(spec, before, "loadBalancerClass")
	}
}

// dropUnchanged removes a member without a use in the new type, unless it was just
// changed, which is an error for ValidateService.
func dropUnchanged(spec, before document.Value, name string) {
	if document.Equal(spec.Get(name), before.Get(name)) {
		spec.Remove(name)
	}
}

// keepClusterIPs keeps addresses that were not sent, and makes the single one and the
// list equal when only one of them was changed.
func keepClusterIPs(spec, before document.Value) {
	sameList := document.Equal(spec.Get("clusterIPs"), before.Get("clusterIPs"))
	switch ip := spec.Get("clusterIP").Text(); {
	case ip == "" && (sameList || isEmpty(spec.Get("clusterIPs"))):
		keep(spec, before, "clusterIP")
		keep(spec, before, "clusterIPs")
	case ip == "" && !isEmpty(before.Get("clusterIP")):
		keep(spec, before, "clusterIP")
	case isEmpty(spec.Get("clusterIPs")) && before.Get("clusterIP").Equals(ip):
		keep(spec, before, "clusterIPs")
	case isEmpty(spec.Get("clusterIPs")), sameList && !before.Get("clusterIP").Equals(ip):
		setClusterIP(spec, ip)
	}
}

// keepNodePorts gives ports without a node port the one they had, by name, unless another
// port has it now.
func keepNodePorts(ports, before document.Value) {
	var sent document.Texts
	for _, port := range ports.Elements() {
		if v := port.Get("nodePort"); number(v) != 0 {
			sent.Add(document.Shown(v))
		}
	}
	had := map[string]document.Value{}
	for _, port := range before.Elements() {
		had[port.Get("name").Text()] = port.Get("nodePort")
	}
	for _, port := range ports.Elements() {
		if number(port.Get("nodePort")) != 0 {
			continue
		}
		if v := had[port.Get("name").Text()]; number(v) != 0 && sent.Add(document.Shown(v)) {
			port.Put("nodePort", v)
		}
	}
}

// dropNodePorts removes the node ports that the service had.
func dropNodePorts(ports, before document.Value) {
	var had document.Texts
	for _, port := range before.Elements() {
		had.Add(document.Shown(port.Get("nodePort")))
	}
	for _, port := range ports.Elements() {
		if had.Has(document.Shown(port.Get("nodePort"))) {
			port.Remove("nodePort")
		}
	}
}
