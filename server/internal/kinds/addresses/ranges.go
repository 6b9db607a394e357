package addresses

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/allocate"
)

// leastServices is the least number of addresses in a range.
const leastServices = 8

// Ranges parses ServiceClusterIPRange.
func Ranges(text string) ([]netip.Prefix, error) {
	parts := strings.Split(text, ",")
	if len(parts) > 2 {
		return nil, fmt.Errorf("service address range: %q has %d ranges; use one, or one for each address family", text, len(parts))
	}
	var ranges []netip.Prefix
	for _, part := range parts {
		p, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("service address range: %q is not a CIDR; use one such as %s", part, DefaultServiceCIDR)
		}
		switch hostBits := p.Addr().BitLen() - p.Bits(); {
		case 1<<min(hostBits, 8) < leastServices:
			return nil, fmt.Errorf("service address range: %q has room for fewer than %d addresses; use a wider one such as %s", part, leastServices, DefaultServiceCIDR)
		case hostBits > allocate.MaxHostBits:
			return nil, fmt.Errorf("service address range: %q is too wide; its mask has to have %d bits or more", part, p.Addr().BitLen()-allocate.MaxHostBits)
		}
		ranges = append(ranges, p.Masked())
	}
	if len(ranges) == 2 && ranges[0].Addr().Is4() == ranges[1].Addr().Is4() {
		return nil, fmt.Errorf("service address range: %q has two ranges of one address family; use one IPv4 and one IPv6 range", text)
	}
	return ranges, nil
}

// PortRange parses ServiceNodePortRange: "first-last", "first+count", or one
// port.
func PortRange(text string) (first, last int, err error) {
	from, to, dash := strings.Cut(text, "-")
	if !dash {
		from, to, _ = strings.Cut(text, "+")
	}
	first, err = strconv.Atoi(strings.TrimSpace(from))
	last = first
	if err == nil && to != "" {
		last, err = strconv.Atoi(strings.TrimSpace(to))
	}
	if err == nil && strings.Contains(text, "+") {
		last += first
	}
	switch {
	case err != nil:
		return 0, 0, fmt.Errorf("node port range: %q is not a range of ports; use one such as %s", text, defaultNodePorts)
	case first < 1 || last > 65535 || last < first:
		return 0, 0, fmt.Errorf("node port range: %q is not a range between 1 and 65535; use one such as %s", text, defaultNodePorts)
	}
	return first, last, nil
}
