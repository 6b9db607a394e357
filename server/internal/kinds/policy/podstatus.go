package policy

import (
	"net/netip"

	"github.com/capstan-dev/capstan/internal/document"
)

// podStatus checks the reported status of a pod, and that finally ended containers stay
// so.
func (c *causes) podStatus(pod, status, old document.Value) {
	for i, condition := range status.Get("conditions").Elements() {
		if kind := condition.Get("type").Text(); kind != "PodScheduled" && kind != "Ready" && kind != "Initialized" {
			c.FormatText(element("metadata.conditions", i)+".Type", kind, "qualified-name")
		}
	}
	if node := status.Get("nominatedNodeName"); node.Text() != "" && !document.Equal(node, old.Get("nominatedNodeName")) {
		c.Format(node, "dns1123-subdomain")
	}
	policy := pod.At("spec", "restartPolicy").Text()
	c.endedContainers(status, old, "containerStatuses", policy)
	c.endedContainers(status, old, "initContainerStatuses", policy)
	c.endedContainers(status, old, "ephemeralContainerStatuses", "Never")
	c.podIPs(status.Get("podIPs"))
}

// endedContainers checks that containers that are not restarted do not run again.
func (c *causes) endedContainers(status, old document.Value, list, policy string) {
	if policy == "Always" {
		return
	}
	for i, was := range old.Get(list).Elements() {
		ended := was.At("state", "terminated")
		if !isSet(ended) || number(ended.Get("exitCode")) != 0 && policy == "OnFailure" {
			continue
		}
		for _, now := range status.Get(list).Elements() {
			if document.Equal(now.Get("name"), was.Get("name")) && !isSet(now.At("state", "terminated")) {
				c.Forbidden(element("status."+list, i)+".state", "may not be transitioned to non-terminated state")
			}
		}
	}
}

// podIPs checks the addresses of a pod: one of each family.
func (c *causes) podIPs(ips document.Value) {
	var taken, families document.Texts
	for i, ip := range ips.Elements() {
		text := ip.Get("ip").Text()
		for _, problem := range document.CheckFormat("ip", text) {
			c.InvalidText(element("status.podIPs", i), text, problem)
		}
		families.Add(ipFamily(text))
		if !taken.Add(text) {
			c.Duplicate(ip)
		}
	}
	if n := ips.Len(); n > 2 || n == 2 && len(families) < 2 {
		c.Invalid(ips, "may specify no more than one IP for each IP family")
	}
}

// ipFamily is the family of an address, "" for other text.
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
