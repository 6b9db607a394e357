package policy

import (
	"net/netip"
	"slices"
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
	if config := spec.Get("sessionAffinityConfig"); isSet(config) && spec.Get("sessionAffinity").Equals("None") {
		c.forbidden(config.Path(), "must not be set when session affinity is None")
	}
	for _, ip := range spec.Get("externalIPs").Elements() {
		if _, err := netip.ParseAddr(ip.Text()); err == nil {
			c.ordinaryIP(ip.Path(), ip)
		}
	}
	c.trafficPolicies(spec, kind)
	c.loadBalancer(obj, kind)
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
		if v := spec.Get(name); !isEmpty(v) || name == "ipFamilyPolicy" && isSet(v) {
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
		case kind == "ClusterIP":
			c.forbidden(nodePort.Path(), "may not be used when `type` is 'ClusterIP'")
		case !nodePorts.add(port.Get("protocol").Text() + show(nodePort)):
			c.duplicate(nodePort)
		}
	}
}

// The policies of where traffic may go.
var trafficPolicies = []string{"Cluster", "Local"}

// trafficPolicies checks where traffic may go.
func (c *causes) trafficPolicies(spec document.Value, kind string) {
	switch policy := spec.Get("externalTrafficPolicy"); {
	case policy.Text() == "":
	case !needsNodePort(kind):
		c.invalid(policy, "ExternalTrafficPolicy can only be set on NodePort and LoadBalancer service")
	case !slices.Contains(trafficPolicies, policy.Text()):
		c.notSupported(policy, trafficPolicies...)
	}
	if policy := spec.Get("internalTrafficPolicy"); isSet(policy) && !slices.Contains(trafficPolicies, policy.Text()) {
		c.notSupported(policy, trafficPolicies...)
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

// sourceRangesAnnotation says from where a load balancer may be used, beside the
// field for it.
const sourceRangesAnnotation = "service.beta." + labelDomain + "/load-balancer-source-ranges"

// loadBalancer checks that only load balancers have what only they need.
func (c *causes) loadBalancer(obj document.Value, kind string) {
	spec := obj.Get("spec")
	c.sourceRanges(obj, kind)
	if v := spec.Get("allocateLoadBalancerNodePorts"); isSet(v) && kind != "LoadBalancer" {
		c.forbidden(v.Path(), onlyLoadBalancer)
	}
	c.loadBalancerClass(spec, kind)
}

func (c *causes) loadBalancerClass(spec document.Value, kind string) {
	switch class := spec.Get("loadBalancerClass"); {
	case !isSet(class):
	case kind == "LoadBalancer":
		c.format(class, "qualified-name")
	default:
		c.forbidden(class.Path(), onlyLoadBalancer)
	}
}

// sourceRanges checks from where a load balancer may be used.
func (c *causes) sourceRanges(obj document.Value, kind string) {
	list, annotation := obj.At("spec", "loadBalancerSourceRanges"), obj.At("metadata", "annotations", sourceRangesAnnotation)
	field, v, ranges := "spec.LoadBalancerSourceRanges", list, []string(nil)
	switch {
	case !isEmpty(list):
		for _, element := range list.Elements() {
			ranges = append(ranges, element.Text())
		}
	case annotation.Exists():
		field, v = "metadata.annotations["+sourceRangesAnnotation+"]", annotation
		if text := strings.TrimSpace(annotation.Text()); text != "" {
			ranges = strings.Split(text, ",")
		}
	default:
		return
	}
	if kind != "LoadBalancer" {
		c.forbidden(field, onlyLoadBalancer)
	}
	for _, text := range ranges {
		if len(document.CheckFormat("cidr", strings.TrimSpace(text))) > 0 {
			c.invalidAt(field, v, "must be a list of IP ranges, like 10.240.0.0/24,10.250.0.0/24")
			return
		}
	}
}

// serviceUpdate checks that what was chosen once stays.
func (c *causes) serviceUpdate(spec, before document.Value) {
	kind, was := spec.Get("type").Text(), before.Get("type").Text()
	if needsClusterIP(kind) && needsClusterIP(was) && !(isHeadless(spec) && isHeadless(before)) {
		c.stackUpdate(spec, before, "clusterIPs", "clusterIP")
		if isHeadless(spec) == isHeadless(before) {
			c.stackUpdate(spec, before, "ipFamilies", "ipFamily")
		}
	}
	if class := spec.Get("loadBalancerClass"); kind == "LoadBalancer" && was == kind && !same(class, before.Get("loadBalancerClass")) {
		c.invalidAt(member(spec, "loadBalancerClass"), class, "may not change once set")
	}
	c.loadBalancerClass(spec, kind)
	if NeedsHealthCheck(spec) && NeedsHealthCheck(before) && !same(spec.Get("healthCheckNodePort"), before.Get("healthCheckNodePort")) {
		c.forbidden(member(spec, "healthCheckNodePort"), "field is immutable")
	}
}

// ordinaryIP checks that an address, reported at field, is one that traffic can be
// sent to.
func (c *causes) ordinaryIP(field string, v document.Value) {
	ip, err := netip.ParseAddr(v.Text())
	switch {
	case err != nil:
		c.invalidAt(field, v, "must be a valid IP address")
	case ip.IsUnspecified():
		c.invalidAt(field, v, "may not be unspecified ("+ip.String()+")")
	case ip.IsLoopback():
		c.invalidAt(field, v, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
	case ip.IsLinkLocalUnicast():
		c.invalidAt(field, v, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
	case ip.IsLinkLocalMulticast():
		c.invalidAt(field, v, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
	}
}

// portOrName checks a member that is the number or the name of a port.
func (c *causes) portOrName(of document.Value, name string) {
	v := of.Get(name)
	if v.Kind() == document.String {
		c.format(v, "port-name")
		return
	}
	if n := number(v); n < 1 || n > 65535 {
		c.invalidAt(member(of, name), v, "must be between 1 and 65535, inclusive")
	}
}
