package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// kubeletPort is the port of every node's agent.
const kubeletPort = 10250

// ValidateService checks the ports of a service, and that a headless one needs none on
// nodes.
func (Policy) ValidateService(obj, _ document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	kind, ips := spec.Get("type").Text(), spec.Get("clusterIPs")
	isHeadless := ips.Index(0).Equals(headless) || spec.Get("clusterIP").Equals(headless)
	if isEmpty(spec.Get("ports")) && !isHeadless && kind != "ExternalName" {
		c.Required(member(spec, "ports"), "")
	}
	if isHeadless && kinds.NeedsNodePort(kind) {
		c.InvalidAt(member(spec, "clusterIPs")+"[0]", ips.Index(0), "may not be set to 'None' for "+kind+" services")
	}
	c.servicePorts(spec, kind)
	return c.Causes
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
