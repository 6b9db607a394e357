package policy

import (
	"net/netip"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// kubeletPort is the port of every node's agent.
const kubeletPort = 10250

const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'"

// ValidateService checks what spans several fields of a service.
func (Policy) ValidateService(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	kind := spec.Get("type").Text()
	if isEmpty(spec.Get("ports")) && !isHeadless(spec) && kind != "ExternalName" {
		c.required(member(spec, "ports"), "")
	}
	if kind == "ExternalName" {
		c.externalName(spec)
	} else {
		c.clusterIPs(spec)
		if isHeadless(spec) && needsNodePort(kind) {
			c.invalidAt(member(spec, "clusterIPs")+"[0]", spec.Get("clusterIPs").Index(0), "may not be set to 'None' for "+kind+" services")
		}
	}
	c.servicePorts(spec, kind)
	c.labels(spec.Get("selector"))
	if config := spec.Get("sessionAffinityConfig"); isSet(config) && spec.Get("sessionAffinity").Equals("None") {
		c.forbidden(config.Path(), "must not be set when session affinity is None")
	}
	for _, ip := range spec.Get("externalIPs").Elements() {
		if _, err := netip.ParseAddr(ip.Text()); err == nil {
			c.ordinaryIP(ip)
		}
	}
	c.trafficPolicies(spec, kind)
	c.loadBalancer(spec, kind)
	if old.Exists() {
		c.serviceUpdate(spec, old.Get("spec"))
	}
	return c
}

func isHeadless(spec document.Value) bool {
	return spec.Get("clusterIPs").Index(0).Equals(headless) || spec.Get("clusterIP").Equals(headless)
}

// externalName checks a service that is another name for a host.
func (c *causes) externalName(spec document.Value) {
	for _, name := range [...]string{"clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
		if !isEmpty(spec.Get(name)) {
			c.forbidden(member(spec, name), "may not be set for ExternalName services")
		}
	}
	name := spec.Get("externalName")
	host := strings.TrimSuffix(name.Text(), ".")
	if host == "" {
		c.required(member(spec, "externalName"), "")
		return
	}
	for _, problem := range document.CheckFormat("dns1123-subdomain", host) {
		c.invalid(name, problem)
	}
}

// servicePorts checks that ports can be told apart and lead somewhere.
func (c *causes) servicePorts(spec document.Value, kind string) {
	ports := spec.Get("ports")
	several := ports.Index(1).Exists()
	var taken, nodePorts names
	for _, port := range ports.Elements() {
		switch name := port.Get("name"); {
		case name.Text() != "":
			if !taken.add(name.Text()) {
				c.duplicate(name)
			}
		case several:
			c.required(member(port, "name"), "")
		}
		c.portOrName(port, "targetPort")
		if kind == "LoadBalancer" && number(port.Get("port")) == kubeletPort {
			c.invalidAt(port.Path(), port.Get("port"), "may not expose port 10250 externally since it is used by kubelet")
		}
		nodePort := port.Get("nodePort")
		switch n := number(nodePort); {
		case n == 0:
		case !needsNodePort(kind):
			c.forbidden(nodePort.Path(), "may not be used when `type` is '"+kind+"'")
		case !nodePorts.add(port.Get("protocol").Text() + show(nodePort)):
			c.duplicate(nodePort)
		}
	}
}

// trafficPolicies checks where traffic from outside may go.
func (c *causes) trafficPolicies(spec document.Value, kind string) {
	if policy := spec.Get("externalTrafficPolicy"); policy.Text() != "" && !needsNodePort(kind) {
		c.invalid(policy, "ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service")
	}
	port := spec.Get("healthCheckNodePort")
	switch n := number(port); {
	case n == 0:
	case !NeedsHealthCheck(spec):
		c.invalid(port, "HealthCheckNodePort can only be set on LoadBalancer service with ExternalTrafficPolicy=Local")
	case n < 1 || n > 65535:
		c.invalid(port, "must be between 1 and 65535, inclusive")
	}
}

// loadBalancer checks that only load balancers have what only they need.
func (c *causes) loadBalancer(spec document.Value, kind string) {
	if kind == "LoadBalancer" {
		return
	}
	if !isEmpty(spec.Get("loadBalancerSourceRanges")) {
		c.forbidden(member(spec, "LoadBalancerSourceRanges"), onlyLoadBalancer)
	}
	for _, name := range [...]string{"allocateLoadBalancerNodePorts", "loadBalancerClass"} {
		if v := spec.Get(name); isSet(v) {
			c.forbidden(v.Path(), onlyLoadBalancer)
		}
	}
}

// serviceUpdate checks that what was chosen once stays.
func (c *causes) serviceUpdate(spec, before document.Value) {
	kind, was := spec.Get("type").Text(), before.Get("type").Text()
	if needsClusterIP(kind) && needsClusterIP(was) && !(isHeadless(spec) && isHeadless(before)) {
		c.stackUpdate(spec, before, "clusterIPs", "clusterIP")
		c.stackUpdate(spec, before, "ipFamilies", "ipFamily")
	}
	if kind != "LoadBalancer" || was != kind {
		return
	}
	for _, name := range [...]string{"loadBalancerClass", "healthCheckNodePort"} {
		v := spec.Get(name)
		if same(v, before.Get(name)) || name == "healthCheckNodePort" && !(NeedsHealthCheck(spec) && NeedsHealthCheck(before)) {
			continue
		}
		c.invalidAt(member(spec, name), v, "may not change once set")
	}
}

// ordinaryIP checks that an address is one that traffic can be sent to.
func (c *causes) ordinaryIP(v document.Value) {
	ip, err := netip.ParseAddr(v.Text())
	switch {
	case err != nil:
		c.invalid(v, "must be a valid IP address")
	case ip.IsUnspecified():
		c.invalid(v, "may not be unspecified ("+ip.String()+")")
	case ip.IsLoopback():
		c.invalid(v, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	case ip.IsLinkLocalUnicast():
		c.invalid(v, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	case ip.IsLinkLocalMulticast():
		c.invalid(v, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	}
}
