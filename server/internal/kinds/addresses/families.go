package addresses

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The policies of families.
const (
	singleStack      = "SingleStack"
	preferDualStack  = "PreferDualStack"
	requireDualStack = "RequireDualStack"
)

// askedMembers are the members by which a service asks for addresses.
var askedMembers = []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}

// headless is the cluster IP of a service without one.
const headless = "None"

// setFamilies sets the address families of a service, and drops the second one where
// it is given up. before is the spec that spec replaces, absent on create; configured are
// the families of the cluster, the default one first; rules are those of the documents. It
// returns causes; then spec is not to be used.
func setFamilies(spec, before document.Value, configured []string, rules *document.Hooks) []schema.Cause {
	if spec.Get("type").Equals("ExternalName") || keepsAddresses(spec, before) {
		return nil
	}
	f := families{spec: spec, before: before, configured: configured}
	if policy := spec.Get("ipFamilyPolicy"); !policy.Exists() || policy.IsNull() {
		spec.SetString("ipFamilyPolicy", f.defaultPolicy())
	}
	f.checkAsked(rules)
	if len(f.Causes) > 0 {
		return f.Causes
	}
	if before.Exists() {
		f.downgrade()
	}
	if spec.Get("ipFamilyPolicy").Equals(singleStack) {
		for _, name := range [...]struct{ list, what string }{{"clusterIPs", "cluster IPs"}, {"ipFamilies", "IP families"}} {
			if spec.Get(name.list).Len() == 2 {
				f.policyWrong("must be 'RequireDualStack' or 'PreferDualStack' when multiple " + name.what + " are specified")
			}
		}
	}
	f.infer()
	if len(f.Causes) > 0 {
		return f.Causes
	}
	if noSelector(spec) {
		f.complete(true)
		return nil
	}
	if spec.Get("ipFamilyPolicy").Equals(requireDualStack) && len(configured) < 2 {
		f.policyWrong("this cluster is not configured for dual-stack services")
	}
	for _, family := range spec.Get("ipFamilies").Elements() {
		if !slices.Contains(configured, family.Text()) {
			f.Invalid(family, "not configured on this cluster")
		}
	}
	if len(f.Causes) > 0 {
		return f.Causes
	}
	f.complete(len(configured) == 2)
	return nil
}

// families is one run of setFamilies.
type families struct {
	document.Causes
	spec, before document.Value
	configured   []string
}

// keepsAddresses reports whether a service that prefers two families is unchanged,
// so that it does not get a second address, and loses none, because the cluster's ranges
// have changed since.
func keepsAddresses(spec, before document.Value) bool {
	if !before.Exists() || !document.Equal(spec.Get("type"), before.Get("type")) || !spec.Get("ipFamilyPolicy").Equals(preferDualStack) {
		return false
	}
	if was := before.Get("ipFamilyPolicy"); !was.IsNothing() && !was.Equals(preferDualStack) {
		return false
	}
	return document.Equal(spec.Get("clusterIPs"), before.Get("clusterIPs")) && document.Equal(spec.Get("ipFamilies"), before.Get("ipFamilies"))
}

// noSelector reports whether a service is headless and has foreign endpoints, whose
// families are unknown.
func noSelector(spec document.Value) bool {
	return spec.Get("clusterIP").Equals(headless) && spec.Get("selector").IsNothing()
}

func (f *families) defaultPolicy() string {
	switch was := f.before.Get("ipFamilyPolicy"); {
	case !was.IsNothing():
		return was.Text()
	case noSelector(f.spec):
		return requireDualStack
	}
	return singleStack
}

func (f *families) policyWrong(why string) {
	f.InvalidAt(f.spec.Path()+".ipFamilyPolicy", f.spec.Get("ipFamilyPolicy"), why)
}

// downgrade drops the second address and family of a service whose policy is a single
// stack, and finds those that were dropped under another policy.
func (f *families) downgrade() {
	single := f.spec.Get("ipFamilyPolicy").Equals(singleStack)
	for _, name := range [...]struct{ list, what string }{{"clusterIPs", "cluster IP"}, {"ipFamilies", "IP family"}} {
		now, was := f.spec.Get(name.list), f.before.Get(name.list)
		switch {
		case single && now.Len() > 1 && document.Equal(now, was):
			first := now.Index(0)
			now.RemoveFunc(func(v document.Value) bool { return v != first })
		case !single && now.Len() > 0 && now.Len() < was.Len():
			f.policyWrong("must be 'SingleStack' to release the secondary " + name.what)
		}
	}
}

// infer adds the families of the requested addresses.
func (f *families) infer() {
	ips := f.spec.Get("clusterIPs")
	for i, ip := range ips.Elements() {
		if ip.Equals(headless) {
			return
		}
		if i < f.spec.Get("ipFamilies").Len() {
			continue
		}
		family := familyOf(ip.Text())
		if !slices.Contains(f.configured, family) {
			f.InvalidAt(ip.Path(), ips, family+" is not configured on this cluster")
			continue
		}
		f.spec.SetArray("ipFamilies").AppendString(family)
	}
}

// complete adds the default family and, if the service shall have two and second permits
// it, the other one.
func (f *families) complete(second bool) {
	list := f.spec.SetArray("ipFamilies")
	if list.Len() == 0 {
		list.AppendString(f.configured[0])
	}
	if f.spec.Get("ipFamilyPolicy").Equals(singleStack) || list.Len() > 1 || !second {
		return
	}
	if list.Index(0).Equals("IPv4") {
		list.AppendString("IPv6")
	} else {
		list.AppendString("IPv4")
	}
}

// checkAsked finds the mistakes in the addresses and families that a service asks for.
func (f *families) checkAsked(rules *document.Hooks) {
	for _, c := range document.Validate(f.spec, rules) {
		member, _, _ := strings.Cut(strings.TrimPrefix(c.Field, f.spec.Path()+"."), "[")
		if slices.Contains(askedMembers, member) {
			f.Causes = append(f.Causes, c)
		}
	}
}

// familyOf is the family of an address, "" for other text.
func familyOf(ip string) string {
	addr, err := netip.ParseAddr(ip)
	if err != nil || addr.Zone() != "" {
		return ""
	}
	return allocate.Family(addr)
}
