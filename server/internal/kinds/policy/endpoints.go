package policy

import (
	"net"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidateEndpoints checks that each subset has routable addresses and distinct ports.
func (Policy) ValidateEndpoints(obj, _ document.Value) []schema.Cause {
	var c causes
	for _, subset := range obj.Get("subsets").Elements() {
		ports := subset.Get("ports")
		several := ports.Index(1).Exists()
		for _, port := range ports.Elements() {
			if several && port.Get("name").Text() == "" {
				c.Required(member(port, "name"), "")
			}
		}
	}
	return c.Causes
}

// WarnEndpoints warns of odd spellings of addresses, other than those of the controller.
func (p Policy) WarnEndpoints(obj, _ document.Value) []string {
	var w warnings
	if !p.since("1.33") || obj.At("metadata", "labels", "endpoints."+labelDomain+"/managed-by").Equals("endpoint-controller") {
		return nil
	}
	for _, subset := range obj.Get("subsets").Elements() {
		for _, list := range [...]string{"addresses", "notReadyAddresses"} {
			for _, address := range subset.Get(list).Elements() {
				p.address(&w, address.Get("ip"))
			}
		}
	}
	return w
}

// shownEndpoints is the number of addresses that the table shows.
const shownEndpoints = 3

// CellEndpointsEndpoints lists the first ready addresses with all their ports.
func (Policy) CellEndpointsEndpoints(obj document.Value) any {
	var list []string
	count := 0
	show := func(ip, port document.Value) {
		count++
		switch {
		case count > shownEndpoints:
		case port.Exists():
			list = append(list, net.JoinHostPort(ip.Text(), strconv.FormatInt(number(port), 10)))
		default:
			list = append(list, ip.Text())
		}
	}
	subsets := obj.Get("subsets")
	if isEmpty(subsets) {
		return none
	}
	for _, subset := range subsets.Elements() {
		addresses, ports := subset.Get("addresses"), subset.Get("ports")
		if isEmpty(ports) {
			for _, address := range addresses.Elements() {
				show(address.Get("ip"), document.Value{})
			}
		}
		each := addresses.Len()
		for _, port := range ports.Elements() {
			if count > shownEndpoints {
				count += each
				continue
			}
			for _, address := range addresses.Elements() {
				show(address.Get("ip"), port.Get("port"))
			}
		}
	}
	text := strings.Join(list, ",")
	if more := count - shownEndpoints; more > 0 {
		text += " + " + strconv.Itoa(more) + " more..."
	}
	return text
}
