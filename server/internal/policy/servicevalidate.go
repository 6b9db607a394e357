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

// ValidateService checks the rules that span several fields of a service.
func (Policy) ValidateService(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	kind := spec.Get("type").Text()
	if isEmpty(spec.Get("ports")) && !isHeadless(spec) && kind != "ExternalName" {
		c.Required(member(spec, "ports"), "")
	}
	if kind != "ExternalName" {
		c.clusterIPs(spec)
	}
	if isHeadless(spec) && needsNodePort(kind) {
		c.InvalidAt(member(spec, "clusterIPs")+"[0]", spec.Get("clusterIPs").Index(0), "may not be set to 'None' for "+kind+" services")
	}
	c.servicePorts(spec, kind)
	for _, ip := range spec.Get("externalIPs").Elements() {
		if _, err := netip.ParseAddr(ip.Text()); err == nil {
			c.Format(ip, "ordinary-ip")
		}
	}
	c.healthCheck(spec)
	c.sourceRanges(obj, kind)
	if old.Exists() {
		c.serviceUpdate(spec, old.Get("spec"))
	}
	return c.Causes
}

func isHeadless(spec document.Value) bool {
	return spec.Get("clusterIPs").Index(0).Equals(headless) || spec.Get("clusterIP").Equals(headless)
}

// servicePorts checks that the names and node ports of ports are unique, and that the
// type of the service allows them.
func (c *causes) servicePorts(spec document.Value, kind string) {
	ports := spec.Get("ports")
	several := ports.Index(1).Exists()
	var taken, nodePorts document.Texts
	for _, port := range ports.Elements() {
		switch name := port.Get("name"); {
		case name.Text() != "":
			if !taken.Add(name.Text()) {
				c.Duplicate(name)
			}
		case several:
			c.Required(member(port, "name"), "")
		}
		if kind == "LoadBalancer" && number(port.Get("port")) == kubeletPort {
			c.InvalidAt(port.Path(), port.Get("port"), "may not expose port 10250 externally since it is used by kubelet")
		}
		nodePort := port.Get("nodePort")
		switch n := number(nodePort); {
		case n == 0:
		case kind == "ClusterIP":
			c.Forbidden(nodePort.Path(), "may not be used when `type` is 'ClusterIP'")
		case !nodePorts.Add(port.Get("protocol").Text() + document.Shown(nodePort)):
			c.Duplicate(nodePort)
		}
	}
}

// trafficPolicies are the values of internalTrafficPolicy.
var trafficPolicies = []string{"Cluster", "Local"}

// healthCheck checks the port of load balancers' health checks.
func (c *causes) healthCheck(spec document.Value) {
	port := spec.Get("healthCheckNodePort")
	switch n := number(port); {
	case n == 0:
	case !NeedsHealthCheck(spec):
		c.Invalid(port, "HealthCheckNodePort can only be set on LoadBalancer service with ExternalTrafficPolicy=Local")
	case n < 1 || n > 65535:
		c.Invalid(port, "must be between 1 and 65535, inclusive")
	}
}

// sourceRangesAnnotation names the clients of a load balancer, like the field
// loadBalancerSourceRanges.
const sourceRangesAnnotation = "service.beta." + labelDomain + "/load-balancer-source-ranges"

// sourceRanges checks the address ranges of a load balancer's clients.
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
		c.Forbidden(field, onlyLoadBalancer)
	}
	for _, text := range ranges {
		if len(document.CheckFormat("cidr", strings.TrimSpace(text))) > 0 {
			c.InvalidAt(field, v, "must be a list of IP ranges, like 10.240.0.0/24,10.250.0.0/24")
			return
		}
	}
}

// serviceUpdate checks that immutable fields stay.
func (c *causes) serviceUpdate(spec, before document.Value) {
	kind, was := spec.Get("type").Text(), before.Get("type").Text()
	if needsClusterIP(kind) && needsClusterIP(was) && !(isHeadless(spec) && isHeadless(before)) {
		c.stackUpdate(spec, before, "clusterIPs", "clusterIP")
		if isHeadless(spec) == isHeadless(before) {
			c.stackUpdate(spec, before, "ipFamilies", "ipFamily")
		}
	}
	if class := spec.Get("loadBalancerClass"); isSet(class) { // once more, as 1.25 does for updates
		if kind == "LoadBalancer" {
			c.Format(class, "qualified-name")
		} else {
			c.Forbidden(class.Path(), onlyLoadBalancer)
		}
	}
	if NeedsHealthCheck(spec) && NeedsHealthCheck(before) && !same(spec.Get("healthCheckNodePort"), before.Get("healthCheckNodePort")) {
		c.Forbidden(member(spec, "healthCheckNodePort"), "field is immutable")
	}
}
