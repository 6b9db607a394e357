package policy

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The schema's bounds of the lists of a slice.
const (
	maxSlicePorts     = 20000
	maxSliceEndpoints = 1000
)

// CreateEndpointSlice drops labels that are fields in this version.
func (Policy) CreateEndpointSlice(obj document.Value) { dropTopology(obj) }

// UpdateEndpointSlice does so too, unless the endpoints are unchanged. A change of them
// makes a new generation, as changes of other labels do, which name the slice's service.
func (Policy) UpdateEndpointSlice(obj, old document.Value) {
	countMetadata(obj, old, "labels")
	if !document.Equal(obj.Get("endpoints"), old.Get("endpoints")) {
		nextGeneration(obj, old)
		dropTopology(obj)
	}
}

// dropTopology removes the labels of endpoints that zone and nodeName replace.
func dropTopology(obj document.Value) {
	for _, endpoint := range obj.Get("endpoints").Elements() {
		endpoint.Remove("deprecatedTopology")
	}
}

// ValidateEndpointSlice checks that addresses are of the slice's type. From 1.33 on an
// update is not refused for endpoints that it leaves as they were.
func (p Policy) ValidateEndpointSlice(obj, old document.Value) []schema.Cause {
	var c causes
	if p.since("1.33") && old.Exists() && document.Equal(obj.Get("endpoints"), old.Get("endpoints")) {
		return c.Causes
	}
	if obj.Get("ports").Len() > maxSlicePorts || obj.Get("endpoints").Len() > maxSliceEndpoints {
		return c.Causes // reported by the schema; other checks would take long
	}
	kind := obj.Get("addressType").Text()
	for _, endpoint := range obj.Get("endpoints").Elements() {
		for _, address := range endpoint.Get("addresses").Elements() {
			p.endpointAddress(&c, endpoint.Get("addresses"), address, kind)
		}
	}
	return c.Causes
}

// endpointAddress checks an address in a list of a slice of a kind.
func (p Policy) endpointAddress(c *causes, list, v document.Value, kind string) {
	if kind == "FQDN" && v.Text() == "" {
		c.Required(v.Path(), "")
		return
	}
	if kind == "FQDN" {
		for _, problem := range validation.IsFullyQualifiedDomainName(field.NewPath(""), v.Text()) {
			c.Invalid(v, problem.Detail)
		}
		return
	}
	if kind != "IPv4" && kind != "IPv6" {
		return // reported by the schema
	}
	ip, err := netip.ParseAddr(v.Text())
	known := err == nil && ip.Zone() == ""
	switch other := !known || ip.Is4() != (kind == "IPv4"); {
	case other && !p.since("1.33"):
		c.Invalid(v, "must be a valid "+kind+" address")
	case known && other:
		c.InvalidAt(list.Path(), v, "must be an "+kind+" address")
	}
	switch {
	case known:
		c.Format(v, "ordinary-ip")
	case p.since("1.33"):
		c.Invalid(v, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
	default:
		c.Invalid(v, "must be a valid IP address")
	}
}

// WarnEndpointSlice warns of names as addresses, and of odd spellings of addresses other than those of controllers.
func (p Policy) WarnEndpointSlice(obj, old document.Value) []string {
	var w warnings
	if p.since("1.27") && !old.Exists() && obj.Get("addressType").Equals("FQDN") {
		w.add("spec.addressType", "FQDN endpoints are deprecated")
	}
	if p.since("1.33") && !obj.Get("addressType").Equals("FQDN") && !obj.At("metadata", "labels", "endpointslice."+labelDomain+"/managed-by").Exists() {
		for _, endpoint := range obj.Get("endpoints").Elements() {
			p.addresses(&w, endpoint.Get("addresses"))
		}
	}
	return w
}
