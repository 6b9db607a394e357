package policy

import (
	"fmt"
	"net/netip"

	"github.com/capstan-dev/capstan/internal/document"
	netutils "k8s.io/utils/net"
)

// StatusService fills in how a load balancer hands traffic on.
func (p Policy) StatusService(obj, _ document.Value) {
	if !p.on("LoadBalancerIPMode") || !obj.At("spec", "type").Equals("LoadBalancer") {
		return
	}
	for _, ingress := range obj.At("status", "loadBalancer", "ingress").Elements() {
		if ingress.Get("ip").Text() != "" && !isSet(ingress.Get("ipMode")) {
			ingress.SetString("ipMode", "VIP")
		}
	}
}

// WarnService warns of settings that have no effect or will have none, and of odd spellings of addresses.
func (p Policy) WarnService(obj, _ document.Value) []string {
	var w warnings
	spec := obj.Get("spec")
	kind, outside := spec.Get("type").Text(), spec.Get("externalIPs")
	if p.since("1.27") && obj.At("metadata", "annotations", "service."+labelDomain+"/topology-aware-hints").Exists() {
		w = append(w, "annotation service."+labelDomain+"/topology-aware-hints is deprecated, please use service."+labelDomain+"/topology-mode instead")
	}
	if !p.since("1.28") {
		return w
	}
	alone := kind == "ClusterIP" && spec.Get("clusterIP").Equals(headless)
	if kind != "ExternalName" && !alone {
		p.addresses(&w, spec.Get("clusterIPs"))
	}
	if alone && p.since("1.34") {
		w.ignored(spec)
	}
	p.addresses(&w, outside)
	if p.since("1.36") && outside.Len() > 0 && !alone && kind != "ExternalName" {
		w = append(w, "spec.externalIPs is deprecated and may no longer be implemented in some clusters")
	}
	if ip := spec.Get("loadBalancerIP"); ip.Text() != "" {
		p.address(&w, ip)
	}
	for _, r := range spec.Get("loadBalancerSourceRanges").Elements() {
		p.addressRange(&w, r)
	}
	if kind == "ExternalName" && outside.Len() > 0 {
		w = append(w, `spec.externalIPs is ignored when spec.type is "ExternalName"`)
	}
	if kind != "ExternalName" && spec.Get("externalName").Text() != "" {
		w = append(w, `spec.externalName is ignored when spec.type is not "ExternalName"`)
	}
	if near := spec.Get("trafficDistribution"); p.since("1.35") && near.Equals("PreferClose") {
		w.add(near.Path(), `"PreferClose" is deprecated; use "PreferSameZone"`)
	}
	return w
}

// ignored warns of what a service without an address does not use.
func (w *warnings) ignored(spec document.Value) {
	if spec.Get("loadBalancerIP").Text() != "" {
		*w = append(*w, "spec.loadBalancerIP is ignored for headless services")
	}
	if spec.Get("externalIPs").Len() > 0 {
		*w = append(*w, "spec.externalIPs is ignored for headless services")
	}
	if !spec.Get("sessionAffinity").Equals("None") {
		*w = append(*w, "spec.SessionAffinity is ignored for headless services")
	}
}

// addresses warns of odd spellings in a list of addresses.
func (p Policy) addresses(w *warnings, list document.Value) {
	for _, ip := range list.Elements() {
		p.address(w, ip)
	}
}

// address warns of an address that other programs read in another way, or that is not in its usual form (RFC 5952).
func (p Policy) address(w *warnings, v document.Value) {
	ip := netutils.ParseIPSloppy(v.Text())
	if ip == nil {
		return // refused
	}
	addr, _ := netip.ParseAddr(v.Text())
	switch {
	case !addr.IsValid() || addr.Is4In6():
		w.add(v.Path(), p.odd("IP address", v.Text(), ip.String()))
	case addr.Is6() && addr.String() != v.Text():
		w.add(v.Path(), fmt.Sprintf("IPv6 address %q should be in RFC 5952 canonical format (%q)", v.Text(), addr))
	}
}

// odd says that an address or a range is not in the standard form.
func (p Policy) odd(what, text, standard string) string {
	if p.since("1.36") {
		return fmt.Sprintf("non-standard %s %q is invalid: use %q", what, text, standard)
	}
	return fmt.Sprintf("non-standard %s %q will be considered invalid in a future Kubernetes release: use %q", what, text, standard)
}

// addressRange warns of a range that other programs read in another way, or that is not in its usual form.
func (p Policy) addressRange(w *warnings, v document.Value) {
	_, network, err := netutils.ParseCIDRSloppy(v.Text())
	if err != nil {
		return // refused
	}
	prefix, err := netip.ParsePrefix(v.Text())
	switch {
	case err != nil || prefix.Addr().Is4In6() || prefix != prefix.Masked():
		w.add(v.Path(), p.odd("CIDR value", v.Text(), network.String()))
	case prefix.Addr().Is6() && prefix.String() != v.Text():
		w.add(v.Path(), fmt.Sprintf("IPv6 CIDR value %q should be in RFC 5952 canonical format (%q)", v.Text(), prefix))
	}
}
