package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidatePodSpec checks the spec of a pod, or of a template of pods.
func (Policy) ValidatePodSpec(spec document.Value) []schema.Cause {
	var c causes
	volumes := c.volumes(spec.Get("volumes"))
	var containers document.Texts
	for _, container := range spec.Get("containers").Elements() {
		c.container(container, &containers, volumes)
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
	if overhead := spec.Get("overhead"); !isEmpty(overhead) { // its entries have the names of limits
		c.amounts(overhead.Path, document.Value{}, overhead)
	}
	c.spreadConstraints(spec.Get("topologySpreadConstraints"))
	c.hostProcess(spec)
	c.operatingSystem(spec)
	return c.Causes
}

// maxSearches is the limit of all search domains of a pod together, in characters.
const maxSearches = 256

// dns checks the name resolution of a pod.
func (c *causes) dns(spec document.Value) {
	searches, total := spec.At("dnsConfig", "searches"), -1
	for _, search := range searches.Elements() {
		total += len(search.Text()) + 1
	}
	if total > maxSearches {
		c.Invalid(searches, "must not have more than 256 characters (including spaces) in the search list")
	}
}

// hostPorts checks the ports that containers use on their node: each may be used once,
// and in the host's network they are the containers' own. Init containers run one after
// the other, so each has the node to itself.
func (c *causes) hostPorts(spec document.Value) {
	var taken document.Texts
	hostNetwork := spec.Get("hostNetwork").Bool()
	for _, container := range spec.Get("containers").Elements() {
		ports := container.Get("ports")
		c.takePorts(ports, &taken)
		if hostNetwork {
			c.sharedPorts(ports, member(spec, "securityContext"))
		}
	}
	for _, container := range spec.Get("initContainers").Elements() {
		c.takePorts(container.Get("ports"), new(document.Texts))
	}
}

// sharedPorts checks ports in the host's network, at the position of the security
// context.
func (c *causes) sharedPorts(ports document.Value, turn string) {
	before := len(c.Causes)
	for _, port := range ports.Elements() {
		if own := port.Get("containerPort"); number(own) != number(port.Get("hostPort")) {
			c.InvalidAt(member(port, "containerPort"), own, "must match `hostPort` when `hostNetwork` is true")
		}
	}
	c.PlaceAt(before, turn)
}

func (c *causes) takePorts(ports document.Value, taken *document.Texts) {
	for _, port := range ports.Elements() {
		host := port.Get("hostPort")
		if number(host) == 0 {
			continue
		}
		if !taken.Add(port.Get("protocol").Text() + "/" + port.Get("hostIP").Text() + "/" + document.Shown(host)) {
			c.Duplicate(host)
		}
	}
}
