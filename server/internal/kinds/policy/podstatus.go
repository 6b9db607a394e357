package policy

import (
	"math"
	"net/netip"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// podStatus checks the reported status of a pod, and that finally ended containers stay
// so.
func (p Policy) podStatus(c *causes, pod, oldPod, status document.Value) {
	old, spec := oldPod.Get("status"), pod.Get("spec")
	conditions := "metadata.conditions"
	if p.since("1.33") {
		conditions = "status.conditions"
	}
	for i, condition := range status.Get("conditions").Elements() {
		if kind := condition.Get("type").Text(); kind != "PodScheduled" && kind != "Ready" && kind != "Initialized" {
			c.FormatText(element(conditions, i)+".Type", kind, "qualified-name")
		}
	}
	if node := status.Get("nominatedNodeName"); node.Text() != "" && !document.Equal(node, old.Get("nominatedNodeName")) {
		c.Format(node, "dns1123-subdomain")
	}
	if !p.on(restartsAll) || !anyRestartsAll(spec) {
		p.endedContainers(c, status, old, spec, "containers", "containerStatuses")
		p.endedContainers(c, status, old, spec, "initContainers", "initContainerStatuses")
	}
	p.endedContainers(c, status, old, spec, "", "ephemeralContainerStatuses")
	p.podIPs(c, status.Get("podIPs"), old.Get("podIPs"))
	if p.since("1.26") {
		p.laterStatus(c, spec, oldPod.Get("spec"), status, old)
	}
}

// laterStatus checks what the status of pods has had since 1.26.
func (p Policy) laterStatus(c *causes, spec, oldSpec, status, old document.Value) {
	if p.since("1.28") {
		p.hostIPs(c, status, old.Get("hostIPs"))
		c.claimStatuses(status.Get("resourceClaimStatuses"), spec.Get("resourceClaims"))
	}
	if p.since("1.34") {
		c.extendedClaim(status.Get("extendedResourceClaimStatus"), spec)
	}
	if p.since("1.31") {
		p.reportedUsers(c, status, spec.At("os", "name").Text())
		c.reportedDevices(status, spec)
	}
	if class := status.Get("qosClass"); p.since("1.32") && class.Text() != old.Get("qosClass").Text() {
		c.InvalidText("status.qosClass", class.Text(), "field is immutable")
	}
	if p.since("1.33") {
		c.observed("status", status)
		for i, condition := range status.Get("conditions").Elements() {
			c.observed(element("status.conditions", i), condition)
		}
	}
	nominated := status.Get("nominatedNodeName").Text()
	if nominated != "" && nominated != old.Get("nominatedNodeName").Text() && !isEmpty(oldSpec.Get("nodeName")) &&
		p.on("ClearingNominatedNodeNameAfterBinding") {
		c.Forbidden("status.nominatedNodeName", "may not be set on pods that are already bound to a node")
	}
}

// observed checks the generation that an observation is about.
func (c *causes) observed(path string, of document.Value) {
	if n := of.Get("observedGeneration"); number(n) < 0 {
		c.InvalidAt(path+".observedGeneration", n, "must be a non-negative integer")
	}
}

// reportedUsers checks the users with which containers began.
func (p Policy) reportedUsers(c *causes, status document.Value, system string) {
	name := ".user.linux"
	if !p.since("1.33") {
		name = ".linux"
	}
	for _, list := range statusLists {
		for i, container := range status.Get(list).Elements() {
			linux, path := container.At("user", "linux"), element("status."+list, i)+name
			if !isSet(linux) {
				continue
			}
			if system == "windows" {
				c.Forbidden(path, "cannot be set for a windows pod")
			}
			c.userID(path+".uid", linux.Get("uid"))
			c.userID(path+".gid", linux.Get("gid"))
			for j, group := range linux.Get("supplementalGroups").Elements() {
				c.userID(element(path+".supplementalGroups", j), group)
			}
		}
	}
}

// userID checks the number of a user or a group.
func (c *causes) userID(path string, id document.Value) {
	if n := number(id); n < 0 || n > math.MaxInt32 {
		c.InvalidAt(path, id, "must be between 0 and 2147483647, inclusive")
	}
}

// statusLists are the lists of reports about containers.
var statusLists = [...]string{"initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"}

// reportedDevices checks that the health of devices is of those that a container has asked for.
func (c *causes) reportedDevices(status, spec document.Value) {
	for i, list := range [...]string{"initContainers", "containers"} {
		for at, report := range status.Get(statusLists[i]).Elements() {
			resources := spec.Get(list).ElementBy("name", report.Get("name").Text()).Get("resources")
			path := element("status."+statusLists[i], at) + ".allocatedResourcesStatus"
			for j, device := range report.Get("allocatedResourcesStatus").Elements() {
				if resources.Exists() && !asksFor(resources, device.Get("name").Text()) {
					c.InvalidAt(element(path, j)+".name", device.Get("name"), "must be a resource that the container requests, or claim: with one of its claims")
				}
				c.deviceHealth(element(path, j)+".resources", device.Get("resources"))
			}
		}
	}
	for at, report := range status.Get(statusLists[2]).Elements() {
		if isSet(report.Get("allocatedResourcesStatus")) {
			c.Forbidden(element("status."+statusLists[2], at)+".allocatedResourcesStatus", "cannot be set for a container status")
		}
	}
}

// asksFor reports whether a container requests a resource, or has a claim that is written as claim:NAME/REQUEST.
func asksFor(resources document.Value, name string) bool {
	claimed, isClaim := strings.CutPrefix(name, "claim:")
	if !isClaim {
		return resources.At("requests", name).Exists()
	}
	for _, claim := range resources.Get("claims").Elements() {
		own := claim.Get("name").Text()
		if request := claim.Get("request").Text(); request != "" {
			own += "/" + request
		}
		if own == claimed {
			return true
		}
	}
	return false
}

// deviceHealth checks the reports about single devices.
func (c *causes) deviceHealth(path string, devices document.Value) {
	var taken document.Texts
	for i, device := range devices.Elements() {
		if health := device.Get("health"); !health.Equals("Healthy") && !health.Equals("Unhealthy") && !health.Equals("Unknown") {
			c.NotSupportedAt(element(path, i)+".health", health, "Healthy", "Unhealthy", "Unknown")
		}
		if id := device.Get("resourceID").Text(); !taken.Add(id) {
			c.duplicateAt(element(path, i)+".resourceID", id)
		}
	}
}

// hostIPs checks the addresses of a pod's node: one of each family, the single one first.
func (p Policy) hostIPs(c *causes, status, old document.Value) {
	ips := status.Get("hostIPs")
	if ips.Len() == 0 {
		return
	}
	if first := ips.Index(0).Get("ip"); first.Text() != status.Get("hostIP").Text() {
		c.InvalidAt("status.hostIPs[0].ip", first, "must be equal to `hostIP`")
	}
	var families, taken document.Texts
	for i, ip := range ips.Elements() {
		text := ip.Get("ip").Text()
		for _, problem := range document.CheckFormat("ip", text) {
			c.InvalidText(element("status.hostIPs", i), text, problem)
		}
		if !taken.Add(text) && !p.since("1.33") {
			c.Duplicate(ip)
		}
		p.strictIP(c, element("status.hostIPs", i), text, old)
		families.Add(ipFamily(text))
	}
	if n := ips.Len(); n > 2 || n == 2 && len(families) < 2 {
		c.Invalid(ips, "may specify no more than one IP for each IP family")
	}
}

// endedContainers checks that containers that are not restarted do not run again.
func (p Policy) endedContainers(c *causes, status, old, spec document.Value, containers, list string) {
	rules := p.on("ContainerRestartRules")
	if containers != "" && !rules && spec.Get("restartPolicy").Equals("Always") {
		return
	}
	for i, was := range old.Get(list).Elements() {
		ended := was.At("state", "terminated")
		container := spec.Get(containers).ElementBy("name", was.Get("name").Text())
		if !isSet(ended) || containers != "" && p.starts(spec, container, ended, rules, containers == "initContainers") {
			continue
		}
		for _, now := range status.Get(list).Elements() {
			if document.Equal(now.Get("name"), was.Get("name")) && !isSet(now.At("state", "terminated")) {
				c.Forbidden(element("status."+list, i)+".state", "may not be transitioned to non-terminated state")
			}
		}
	}
}

// starts reports whether a container that has ended may start again.
func (p Policy) starts(spec, container, ended document.Value, rules, first bool) bool {
	code := number(ended.Get("exitCode"))
	if rules {
		return container.Exists() && p.mayRestart(spec, container, code)
	}
	return spec.Get("restartPolicy").Equals("OnFailure") && code != 0 || first && isSidecar(container)
}

// podIPs checks the addresses of a pod: one of each family.
func (p Policy) podIPs(c *causes, ips, old document.Value) {
	var taken, families document.Texts
	for i, ip := range ips.Elements() {
		text := ip.Get("ip").Text()
		for _, problem := range document.CheckFormat("ip", text) {
			c.InvalidText(element("status.podIPs", i), text, problem)
		}
		p.strictIP(c, element("status.podIPs", i), text, old)
		families.Add(ipFamily(text))
		if !taken.Add(text) {
			c.Duplicate(ip)
		}
	}
	if n := ips.Len(); n > 2 || n == 2 && len(families) < 2 {
		c.Invalid(ips, "may specify no more than one IP for each IP family")
	}
}

// strictIP refuses a new address that programs read in different ways.
func (p Policy) strictIP(c *causes, path, text string, old document.Value) {
	if !p.on("StrictIPCIDRValidation") || len(document.CheckFormat("ip", text)) > 0 || old.ElementBy("ip", text).Exists() {
		return
	}
	addr, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		c.InvalidText(path, text, "must not have leading 0s")
	case addr.Is4In6():
		c.InvalidText(path, text, "must not be an IPv4-mapped IPv6 address")
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
