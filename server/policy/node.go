package policy

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// DefaultNodeSpec keeps the range and the list of ranges of a node's pods in
// step. Where they differ the single one wins.
func (Policy) DefaultNodeSpec(spec document.Value) {
	cidr, first := spec.Get("podCIDR"), spec.Get("podCIDRs").Index(0)
	switch {
	case isEmpty(cidr) && !isEmpty(first):
		spec.SetString("podCIDR", first.Text())
	case !isEmpty(cidr) && !first.Equals(cidr.Text()):
		text := cidr.Text()
		spec.Remove("podCIDRs")
		spec.SetArray("podCIDRs").AppendString(text)
	}
}

// DefaultNodeStatus says that all of a node can be used, when nobody says less.
func (Policy) DefaultNodeStatus(status document.Value) {
	roundUp(status.Get("capacity"))
	roundUp(status.Get("allocatable"))
	if capacity := status.Get("capacity"); !isEmpty(capacity) && isEmpty(status.Get("allocatable")) {
		status.Put("allocatable", capacity)
	}
}

// UpdateNode keeps the ranges of a node's pods when they are not sent.
func (Policy) UpdateNode(obj, old document.Value) {
	spec, before := obj.Get("spec"), old.Get("spec")
	if isEmpty(spec.Get("podCIDR")) && isEmpty(spec.Get("podCIDRs")) {
		for _, name := range [...]string{"podCIDR", "podCIDRs"} {
			if v := before.Get(name); v.Exists() {
				spec.Put(name, v)
			}
		}
	}
}

// ValidateNode checks taints and ranges, and that what is set once stays.
func (Policy) ValidateNode(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	c.taints(spec.Get("taints"))
	c.podCIDRs(spec.Get("podCIDRs"))
	for _, name := range [...]string{"capacity", "allocatable"} {
		amounts := obj.At("status", name)
		for resource, v := range amounts.Members() {
			c.resourceAmount(amounts, resource, v)
		}
	}
	if !old.Exists() {
		return c
	}
	before := old.Get("spec")
	if cidrs := before.Get("podCIDRs"); !isEmpty(cidrs) && !same(cidrs, spec.Get("podCIDRs")) {
		c.forbidden(member(spec, "podCIDRs"), "node updates may not change podCIDR except from \"\" to valid")
	}
	if id := before.Get("providerID"); !isEmpty(id) && !same(id, spec.Get("providerID")) {
		c.forbidden(member(spec, "providerID"), "node updates may not change providerID except from \"\" to valid")
	}
	if !same(spec.Get("externalID"), before.Get("externalID")) || !same(spec.Get("configSource"), before.Get("configSource")) {
		c.forbidden("", "node updates may only change labels, taints, or capacity")
	}
	return c
}

// taints checks the taints of a node, of which it has each kind once. They are
// reported as a part of the metadata.
func (c *causes) taints(taints document.Value) {
	var taken names
	for i, taint := range taints.Elements() {
		field := "metadata.taints[" + strconv.Itoa(i) + "]"
		key, effect := taint.Get("key").Text(), taint.Get("effect").Text()
		c.formatText(field+".key", key, "qualified-name")
		c.formatText(field+".value", taint.Get("value").Text(), "label-value")
		switch effect {
		case "":
			c.required(field+".effect", "")
		case "NoSchedule", "PreferNoSchedule", "NoExecute":
		default:
			c.notSupportedAt(field+".effect", taint.Get("effect"), "NoSchedule", "PreferNoSchedule", "NoExecute")
		}
		if key != "" && effect != "" && !taken.add(key+":"+effect) {
			c.add(schema.CauseDuplicate, field, "Duplicate value: "+show(taint)+": taints must be unique by key and effect pair")
		}
	}
}

// podCIDRs checks that there is at most one range of each address family.
func (c *causes) podCIDRs(list document.Value) {
	var taken names
	families := map[bool]int{}
	count := 0
	for _, cidr := range list.Elements() {
		count++
		prefix, err := netip.ParsePrefix(cidr.Text())
		if err != nil {
			return // reported by the schema
		}
		families[prefix.Addr().Is4()]++
		if !taken.add(cidr.Text()) {
			c.duplicate(cidr)
		}
	}
	switch {
	case count > 2:
		c.invalid(list, "may specify no more than one CIDR for each IP family")
	case count == 2 && len(families) < 2:
		c.invalid(list, "must contain one CIDR of each IP family")
	}
}

// CellNodeStatus says whether a node is ready and takes pods.
func (Policy) CellNodeStatus(obj document.Value) any {
	status := "Unknown"
	for _, condition := range obj.At("status", "conditions").Elements() {
		if condition.Get("type").Equals("Ready") {
			status = "NotReady"
			if condition.Get("status").Equals("True") {
				status = "Ready"
			}
		}
	}
	if obj.At("spec", "unschedulable").Bool() {
		return status + ",SchedulingDisabled"
	}
	return status
}

// CellNodeRoles lists the roles that its labels give a node.
func (Policy) CellNodeRoles(obj document.Value) any {
	var roles []string
	for name, v := range obj.At("metadata", "labels").Members() {
		role, ok := strings.CutPrefix(name, "node-role."+labelDomain+"/")
		if name == labelDomain+"/role" {
			role, ok = v.Text(), true
		}
		if ok && role != "" {
			roles = append(roles, role)
		}
	}
	if len(roles) == 0 {
		return none
	}
	slices.Sort(roles)
	return strings.Join(slices.Compact(roles), ",")
}

// nodeAddress is the first address of a type.
func nodeAddress(obj document.Value, kind string) string {
	for _, address := range obj.At("status", "addresses").Elements() {
		if address.Get("type").Equals(kind) {
			return address.Get("address").Text()
		}
	}
	return none
}

// CellNodeInternalIP is the address inside the cluster.
func (Policy) CellNodeInternalIP(obj document.Value) any { return nodeAddress(obj, "InternalIP") }

// CellNodeExternalIP is the address outside the cluster.
func (Policy) CellNodeExternalIP(obj document.Value) any { return nodeAddress(obj, "ExternalIP") }

// nodeInfo is what a node says of itself.
func nodeInfo(obj document.Value, member string) string {
	if text := obj.At("status", "nodeInfo", member).Text(); text != "" {
		return text
	}
	return "<unknown>"
}

// CellNodeOsImage is the operating system.
func (Policy) CellNodeOsImage(obj document.Value) any { return nodeInfo(obj, "osImage") }

// CellNodeKernelVersion is the version of the kernel.
func (Policy) CellNodeKernelVersion(obj document.Value) any { return nodeInfo(obj, "kernelVersion") }

// CellNodeContainerRuntime is the container runtime with its version.
func (Policy) CellNodeContainerRuntime(obj document.Value) any {
	return nodeInfo(obj, "containerRuntimeVersion")
}
