package policy

import (
	"net/netip"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
)

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

// clusterIPs checks the addresses of a service inside the cluster.
func (c *causes) clusterIPs(spec document.Value) {
	ips, ip, wanted := spec.Get("clusterIPs"), spec.Get("clusterIP"), spec.Get("ipFamilies")
	switch first := ips.Index(0); {
	case !first.Exists() && !isEmpty(ip):
		c.Required(member(spec, "clusterIPs"), "")
	case first.Exists() && isEmpty(ip):
		c.Invalid(ips, "must be empty when `clusterIP` is not specified")
	case first.Exists() && !first.Equals(ip.Text()):
		c.Invalid(ips, "first value must match `clusterIP`")
	}
	if policy := spec.Get("ipFamilyPolicy"); isSet(policy) && !slices.Contains(familyPolicies, policy.Text()) {
		c.NotSupported(policy, familyPolicies...)
	}
	var taken document.Texts
	for _, family := range wanted.Elements() {
		if !family.Equals("IPv4") && !family.Equals("IPv6") {
			c.NotSupported(family, "IPv4", "IPv6")
		}
		if !taken.Add(family.Text()) {
			c.Duplicate(family)
		}
	}
	wrong := false
	for i, v := range ips.Elements() {
		switch {
		case i == 0 && v.Equals(headless):
			if ips.Len() > 1 {
				wrong = true
				c.Invalid(ips, "'None' must be the first and only value")
			}
		case ipFamily(v.Text()) == "":
			wrong = true
			c.Invalid(v, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
		}
	}
	if ips.Len() > 2 {
		c.Invalid(ips, "may only hold up to 2 values")
	}
	if wrong || isHeadless(spec) {
		return
	}
	if ips.Len() == 2 && ipFamily(ips.Index(0).Text()) == ipFamily(ips.Index(1).Text()) {
		c.Invalid(ips, "may specify no more than one IP for each IP family")
	}
	for i, v := range ips.Elements() {
		if want := wanted.Index(i); (want.Equals("IPv4") || want.Equals("IPv6")) && !want.Equals(ipFamily(v.Text())) {
			c.Invalid(v, "expected an "+want.Text()+" value as indicated by `ipFamilies`")
		}
	}
}

// stackUpdate checks that the first of a service's addresses or families stays, and the
// second is dropped only under a single-stack policy.
func (c *causes) stackUpdate(spec, before document.Value, list, one string) {
	was, now := before.Get(list), spec.Get(list)
	at := member(spec, list)
	switch {
	case was.Len() == now.Len():
		for i, v := range was.Elements() {
			if !same(v, now.Index(i)) {
				c.InvalidAt(now.Index(i).Path(), now, "may not change once set")
			}
		}
	case now.Len() == 0:
		c.InvalidAt(at+"[0]", now, "primary "+one+" can not be unset")
	case was.Len() > 0 && !same(was.Index(0), now.Index(0)):
		c.InvalidAt(at+"[0]", now, "may not change once set")
	}
	if was.Len() > now.Len() && now.Len() == 1 && !spec.Get("ipFamilyPolicy").Equals(singleStack) {
		c.InvalidAt(member(spec, "ipFamilyPolicy"), spec.Get("ipFamilyPolicy"), "must be set to 'SingleStack' when releasing the secondary "+one)
	}
}
