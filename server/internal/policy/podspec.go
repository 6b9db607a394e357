package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidatePodSpec checks the spec of a pod, or of a template of pods.
func (Policy) ValidatePodSpec(spec document.Value) []schema.Cause {
	var c causes
	volumes := c.volumes(spec.Get("volumes"))
	var containers names
	for _, container := range spec.Get("containers").Elements() {
		c.container(container, &containers, volumes)
		c.probes(container)
	}
	for _, container := range spec.Get("initContainers").Elements() {
		c.container(container, &containers, volumes)
		c.runsOnce(container, "may not be set for init containers")
	}
	for _, container := range spec.Get("ephemeralContainers").Elements() {
		c.ephemeralContainer(container, containers)
	}
	for _, container := range spec.Get("ephemeralContainers").Elements() {
		c.container(container, &containers, volumes)
	}
	c.hostPorts(spec)
	c.dns(spec)
	c.podSecurity(spec)
	c.nodeNames(spec)
	c.tolerations(spec.Get("tolerations"))
	c.spreadConstraints(spec.Get("topologySpreadConstraints"))
	c.hostProcess(spec)
	c.operatingSystem(spec)
	return c
}

// nodeNames checks the fields by which a pod is placed and run, which name
// other objects.
func (c *causes) nodeNames(spec document.Value) {
	c.labels(spec.Get("nodeSelector"))
	if v := spec.Get("priorityClassName"); v.Text() != "" {
		c.format(v, "dns1123-subdomain")
	}
	if v := spec.Get("runtimeClassName"); isSet(v) {
		c.format(v, "dns1123-subdomain")
	}
	switch v := spec.Get("preemptionPolicy"); {
	case !isSet(v), v.Equals("Never"), v.Equals("PreemptLowerPriority"):
	case v.Text() == "":
		c.required(v.Path(), "")
	default:
		c.notSupported(v, "Never", "PreemptLowerPriority")
	}
	if overhead := spec.Get("overhead"); !isEmpty(overhead) { // its entries have the names that they would have among limits
		c.amounts(overhead.Path, document.Value{}, overhead)
	}
}

// Limits of how a pod resolves names; maxSearches is that of all search domains
// together, in characters.
const (
	maxNameservers = 3
	maxSearchPaths = 6
	maxSearches    = 256
)

// dns checks how a pod resolves names.
func (c *causes) dns(spec document.Value) {
	config := spec.Get("dnsConfig")
	if spec.Get("dnsPolicy").Equals("None") {
		switch {
		case !config.Exists():
			c.required(member(spec, "dnsConfig"), "must provide `dnsConfig` when `dnsPolicy` is None")
		case isEmpty(config.Get("nameservers")):
			c.required(member(config, "nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None")
		}
	}
	if nameservers := config.Get("nameservers"); nameservers.Len() > maxNameservers {
		c.invalid(nameservers, "must not have more than "+strconv.Itoa(maxNameservers)+" nameservers")
	}
	searches := config.Get("searches")
	if searches.Len() > maxSearchPaths {
		c.invalid(searches, "must not have more than "+strconv.Itoa(maxSearchPaths)+" search paths")
	}
	total := -1
	for _, search := range searches.Elements() {
		text := strings.TrimSuffix(search.Text(), ".")
		total += len(search.Text()) + 1
		for _, problem := range document.CheckFormat("dns1123-subdomain", text) {
			c.invalid(search, problem)
		}
	}
	if total > maxSearches {
		c.invalid(searches, "must not have more than 256 characters (including spaces) in the search list")
	}
}

// hostPorts checks the ports that containers take on their node: each may be
// taken once, and in the host's network they are the containers' own. Init
// containers run one after the other, so each has the node to itself.
func (c *causes) hostPorts(spec document.Value) {
	var taken names
	hostNetwork := spec.Get("hostNetwork").Bool()
	for _, container := range spec.Get("containers").Elements() {
		ports := container.Get("ports")
		c.takePorts(ports, &taken)
		if hostNetwork {
			c.sharedPorts(ports, member(spec, "securityContext"))
		}
	}
	for _, container := range spec.Get("initContainers").Elements() {
		c.takePorts(container.Get("ports"), new(names))
	}
}

// sharedPorts checks ports in the host's network, at the turn of the security context.
func (c *causes) sharedPorts(ports document.Value, turn string) {
	before := len(*c)
	for _, port := range ports.Elements() {
		if own := port.Get("containerPort"); number(own) != number(port.Get("hostPort")) {
			c.invalidAt(member(port, "containerPort"), own, "must match `hostPort` when `hostNetwork` is true")
		}
	}
	c.tellAt(before, turn)
}

func (c *causes) takePorts(ports document.Value, taken *names) {
	for _, port := range ports.Elements() {
		host := port.Get("hostPort")
		if number(host) == 0 {
			continue
		}
		if !taken.add(port.Get("protocol").Text() + "/" + port.Get("hostIP").Text() + "/" + show(host)) {
			c.duplicate(host)
		}
	}
}
