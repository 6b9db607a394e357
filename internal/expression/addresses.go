package expression

import (
	"fmt"
	"net/netip"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

var (
	addresses = &class[netip.Addr]{is: cel.OpaqueType("net.IP"), equal: func(a, b netip.Addr) bool { return a == b }, text: netip.Addr.String,
		size: func(a netip.Addr) int { return a.BitLen() / 8 }}
	networks = &class[netip.Prefix]{is: cel.OpaqueType("net.CIDR"), equal: func(a, b netip.Prefix) bool { return a == b }, text: netip.Prefix.String,
		size: func(p netip.Prefix) int { return (p.Bits() + 7) / 8 }}
)

// addressFunctions are functions of IP addresses and networks.
func addressFunctions() map[string][]cel.FunctionOpt {
	ip, cidr, s, b := addresses.is, networks.is, types.StringType, types.BoolType
	functions := map[string][]cel.FunctionOpt{
		"ip": {
			function("string_to_ip", ip, ofText(textToAddress), s),
			member("cidr_ip", ip, unary(networks, func(p netip.Prefix) ref.Val { return addresses.of(p.Addr()) }), cidr)},
		"cidr": {function("string_to_cidr", cidr, ofText(textToNetwork), s)},
		"isIP": {function("is_ip", b, ofText(func(text string) ref.Val {
			_, err := parseAddress(text)
			return types.Bool(err == nil)
		}), s)},
		"isCIDR": {function("is_cidr", b, ofText(func(text string) ref.Val {
			_, err := parseNetwork(text)
			return types.Bool(err == nil)
		}), s)},
		"ip.isCanonical": {function("ip_is_canonical", b, ofText(func(text string) ref.Val {
			a, err := parseAddress(text)
			if err != nil {
				return types.WrapErr(err)
			}
			return types.Bool(a.String() == text)
		}), s)},
		"family": {member("ip_family", types.IntType, unary(addresses, func(a netip.Addr) ref.Val {
			if a.Is4() {
				return types.Int(4)
			}
			return types.Int(6)
		}), ip)},
		"string": {
			function("ip_to_string", s, unary(addresses, func(a netip.Addr) ref.Val { return types.String(a.String()) }), ip),
			function("cidr_to_string", s, unary(networks, func(p netip.Prefix) ref.Val { return types.String(p.String()) }), cidr)},
		"prefixLength": {member("cidr_prefix_length", types.IntType, unary(networks, func(p netip.Prefix) ref.Val { return types.Int(p.Bits()) }), cidr)},
		"masked":       {member("cidr_masked", cidr, unary(networks, func(p netip.Prefix) ref.Val { return networks.of(p.Masked()) }), cidr)},
		"containsIP": {
			member("cidr_contains_ip_string", b, cel.BinaryBinding(func(of, text ref.Val) ref.Val { return containsAddress(of, parsed(text, textToAddress)) }), cidr, s),
			member("cidr_contains_ip_ip", b, cel.BinaryBinding(containsAddress), cidr, ip)},
		"containsCIDR": {
			member("cidr_contains_cidr_string", b, cel.BinaryBinding(func(of,
				text ref.Val) ref.Val {
				return containsNetwork(of, parsed(text, textToNetwork))
			}), cidr, s),
			member("cidr_contains_cidr", b, cel.BinaryBinding(containsNetwork), cidr, cidr)},
	}
	for _, test := range []struct {
		name, id string
		of       func(netip.Addr) bool
	}{
		{"isUnspecified", "ip_is_unspecified", netip.Addr.IsUnspecified},
		{"isLoopback", "ip_is_loopback", netip.Addr.IsLoopback},
		{"isLinkLocalMulticast", "ip_is_link_local_multicast", netip.Addr.IsLinkLocalMulticast},
		{"isLinkLocalUnicast", "ip_is_link_local_unicast", netip.Addr.IsLinkLocalUnicast},
		{"isGlobalUnicast", "ip_is_global_unicast", netip.Addr.IsGlobalUnicast},
	} {
		functions[test.name] = []cel.FunctionOpt{member(test.id, b, unary(addresses, func(a netip.Addr) ref.Val { return types.Bool(test.of(a)) }), ip)}
	}
	return functions
}

// parseAddress reads an address without a zone that is not an IPv4 address in IPv6 form.
func parseAddress(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return a, fmt.Errorf("IP Address %q parse error during conversion from string: %v", text, err)
	case a.Zone() != "":
		return a, fmt.Errorf("IP address %q with zone value is not allowed", text)
	case a.Is4In6():
		return a, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", text)
	}
	return a, nil
}

// parseNetwork reads a network that is not an IPv4 network in IPv6 form.
func parseNetwork(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return p, fmt.Errorf("network address parse error during conversion from string: %v", err)
	case p.Addr().Is4In6():
		return p, fmt.Errorf("IPv4-mapped IPv6 address %q is not allowed", text)
	}
	return p, nil
}

func textToAddress(text string) ref.Val {
	a, err := parseAddress(text)
	if err != nil {
		return types.WrapErr(err)
	}
	return addresses.of(a)
}

func textToNetwork(text string) ref.Val {
	p, err := parseNetwork(text)
	if err != nil {
		return types.NewErr("network address parse error during conversion from string: %v", err)
	}
	return networks.of(p)
}

// parsed converts an operand that is a string.
func parsed(v ref.Val, of func(string) ref.Val) ref.Val {
	if s, ok := v.(types.String); ok {
		return of(string(s))
	}
	return v
}

func containsAddress(of, v ref.Val) ref.Val {
	p, ok := networks.in(of)
	if !ok {
		return types.MaybeNoSuchOverloadErr(of)
	}
	a, ok := addresses.in(v)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	return types.Bool(p.Contains(a))
}

func containsNetwork(of, v ref.Val) ref.Val {
	outer, ok := networks.in(of)
	if !ok {
		return types.MaybeNoSuchOverloadErr(of)
	}
	inner, ok := networks.in(v)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	return types.Bool(outer.Overlaps(inner) && outer.Bits() <= inner.Bits())
}
