package policy

import (
	"cmp"
	"net/netip"
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// DefaultNodeSpec keeps the range and the list of ranges of a node's pods equal. Where
// they differ the single one counts.
func (Policy) DefaultNodeSpec(spec document.Value) {
	agree(spec, "podCIDR", "podCIDRs", spec.Get("podCIDRs").Index(0), document.Value.AppendString)
}

// DefaultNodeStatus makes all of a node's capacity allocatable by default.
func (Policy) DefaultNodeStatus(status document.Value) {
	if capacity := status.Get("capacity"); !isEmpty(capacity) && isEmpty(status.Get("allocatable")) {
		status.Put("allocatable", capacity)
	}
}

// ValidateNode checks taints and ranges, and that values set once stay.
func (Policy) ValidateNode(obj, old document.Value) []schema.Cause {
	var c causes
	spec, status, before := obj.Get("spec"), obj.Get("status"), old.Get("spec")
	changed := !document.Same(spec, before)
	if changed {
		c.taints(spec.Get("taints"))
		c.podCIDRs(spec.Get("podCIDRs"))
	}
	for _, name := range [...]string{"capacity", "allocatable"} {
		for resource, v := range status.Get(name).Members() { // their names are shown like those of fields
			c.resourceAmount("status."+name+"."+resource, resource, v)
		}
	}
	if !old.Exists() {
		return c.Causes
	}
	c.addresses(status.Get("addresses"))
	if !changed || document.Equal(spec, before) {
		return c.Causes
	}
	c.changedRanges(spec.Get("podCIDRs"), before.Get("podCIDRs"))
	c.taints(spec.Get("taints"))
	return c.Causes
}

// changedRanges checks that the ranges that a node has stay.
func (c *causes) changedRanges(now, before document.Value) {
	const why = "node updates may not change podCIDR except from \"\" to valid"
	switch {
	case isEmpty(before):
	case before.Len() != now.Len():
		c.Forbidden("spec.podCIDRs", why)
	default:
		for i, cidr := range before.Elements() {
			if !document.Equal(cidr, now.Index(i)) {
				c.Forbidden("spec.podCIDRs", why)
			}
		}
	}
}

// addresses checks that a node has each of its addresses once.
func (c *causes) addresses(list document.Value) {
	var told document.Texts
	for _, address := range list.Elements() {
		if !told.Add(address.Get("type").Text() + " " + address.Get("address").Text()) {
			c.Duplicate(address)
		}
	}
}

// taints checks the taints of a node, each kind once. They are reported as a part of the
// metadata.
func (c *causes) taints(taints document.Value) {
	var taken document.Texts
	for i, taint := range taints.Elements() {
		field := "metadata.taints[" + strconv.Itoa(i) + "]"
		key, effect := taint.Get("key").Text(), taint.Get("effect").Text()
		c.FormatText(field+".key", key, "qualified-name")
		if value := taint.Get("value"); len(document.CheckFormat("label-value", value.Text())) > 0 {
			c.InvalidAt(field+".value", value, "must be a valid label value")
		}
		switch effect {
		case "":
			c.Required(field+".effect", "")
		case "NoSchedule", "PreferNoSchedule", "NoExecute":
		default:
			c.NotSupportedAt(field+".effect", taint.Get("effect"), "NoSchedule", "PreferNoSchedule", "NoExecute")
		}
		if !taken.Add(key + ":" + effect) {
			c.Add(schema.CauseDuplicate, field, "Duplicate value: "+document.Shown(taint)+": taints must be unique by key and effect pair")
		}
	}
}

// podCIDRs checks that there is at most one range of each address family.
func (c *causes) podCIDRs(list document.Value) {
	if list.Len() < 2 {
		return
	}
	var wrong error // reported by the schema, too
	families := map[bool]int{}
	for _, cidr := range list.Elements() {
		prefix, err := netip.ParsePrefix(cidr.Text())
		wrong = cmp.Or(wrong, err)
		families[prefix.Addr().Is4()]++
	}
	if wrong != nil {
		c.Add(schema.CauseInternal, list.Path(), "Internal error: invalid PodCIDRs. failed to check with dual stack with error:"+wrong.Error())
	}
	if wrong != nil || list.Len() > 2 || len(families) < 2 {
		c.Invalid(list, "may specify no more than one CIDR for each IP family")
	}
	var taken document.Texts
	for _, cidr := range list.Elements() {
		if !taken.Add(cidr.Text()) {
			c.Duplicate(cidr)
		}
	}
}
