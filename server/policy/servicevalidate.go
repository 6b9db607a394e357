package policy

import (
	"net/netip"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The node ports that services may take.
const (
	firstNodePort = 30000
	lastNodePort  = 32767
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
		c.clusterIPs(spec, kind)
	}
	c.servicePorts(spec, kind)
	c.labelKeys(spec.Get("selector"))
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
		case n < firstNodePort || n > lastNodePort:
			c.invalid(nodePort, "provided port is not in the valid range. The range of valid ports is 30000-32767")
		case !nodePorts.add(port.Get("protocol").Text() + show(nodePort)):
			c.duplicate(nodePort)
		}
	}
}

// ipFamily is the family of an address, "" when it is none.
func ipFamily(ip string) string {
	addr, err := netip.ParseAddr(ip)
	switch {
	case err != nil || addr.Zone() != "":
		return ""
	case addr.Is4():
		return "IPv4"
	}
	return "IPv6"
}

// clusterIPs checks the addresses of a service inside the cluster.
func (c *causes) clusterIPs(spec document.Value, kind string) {
	ips, ip := spec.Get("clusterIPs"), spec.Get("clusterIP")
	if isHeadless(spec) && needsNodePort(kind) {
		c.invalidAt(member(spec, "clusterIPs")+"[0]", ips.Index(0), "may not be set to 'None' for "+kind+" services")
	}
	if first := ips.Index(0); first.Exists() && !first.Equals(ip.Text()) {
		c.invalid(ips, "first element of list must match `clusterIP`")
	}
	var taken names
	wanted := spec.Get("ipFamilies")
	for i, family := range wanted.Elements() {
		if !taken.add(family.Text()) {
			c.duplicate(family)
		}
		if i == 2 {
			c.invalid(wanted, "may only hold up to 2 values")
		}
	}
	count := ips.Len()
	families := [2]string{}
	for i, v := range ips.Elements() {
		if v.Equals(headless) {
			if count > 1 {
				c.invalid(v, "must be the only value when it is 'None'")
			}
			continue
		}
		family := ipFamily(v.Text())
		if family == "" {
			c.invalid(v, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
			continue
		}
		if i < len(families) {
			families[i] = family
		}
		if want := wanted.Index(i); want.Exists() && !want.Equals(family) {
			c.invalid(v, "expected an "+want.Text()+" value as indicated by `ipFamilies`")
		}
	}
	if families[0] != "" && families[0] == families[1] {
		c.invalid(ips, "may specify no more than one IP for each IP family")
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
	case !needsHealthCheck(spec):
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
	if needsClusterIP(kind) && needsClusterIP(was) {
		for _, name := range [...]string{"clusterIPs", "ipFamilies"} {
			first, now := before.Get(name).Index(0), spec.Get(name).Index(0)
			switch {
			case !first.Exists() || same(first, now):
			case !now.Exists():
				c.invalidAt(member(spec, name)+"[0]", spec.Get(name), "primary "+strings.TrimSuffix(name, "s")+" can not be unset")
			default:
				c.invalidAt(now.Path(), spec.Get(name), "may not change once set")
			}
		}
	}
	if kind != "LoadBalancer" || was != kind {
		return
	}
	for _, name := range [...]string{"loadBalancerClass", "healthCheckNodePort"} {
		v := spec.Get(name)
		if same(v, before.Get(name)) || name == "healthCheckNodePort" && !(needsHealthCheck(spec) && needsHealthCheck(before)) {
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
