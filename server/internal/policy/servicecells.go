package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// CellServiceClusterIP is the first address inside the cluster.
func (Policy) CellServiceClusterIP(obj document.Value) any {
	if ip := obj.At("spec", "clusterIPs").Index(0).Text(); ip != "" {
		return ip
	}
	if ip := obj.At("spec", "clusterIP").Text(); ip != "" {
		return ip
	}
	return none
}

// CellServiceExternalIP lists the addresses outside the cluster.
func (Policy) CellServiceExternalIP(obj document.Value) any {
	spec := obj.Get("spec")
	var ips []string
	switch spec.Get("type").Text() {
	case "ExternalName":
		return spec.Get("externalName").Text()
	case "LoadBalancer":
		ips = loadBalancerAddresses(obj)
	}
	for _, ip := range spec.Get("externalIPs").Elements() {
		ips = append(ips, ip.Text())
	}
	switch {
	case len(ips) > 0:
		return strings.Join(ips, ",")
	case spec.Get("type").Equals("LoadBalancer"):
		return "<pending>"
	}
	return none
}

// loadBalancerAddresses lists the addresses of the load balancer of a service or an
// ingress.
func loadBalancerAddresses(obj document.Value) []string {
	var list []string
	for _, ingress := range obj.At("status", "loadBalancer", "ingress").Elements() {
		if ip := ingress.Get("ip").Text(); ip != "" {
			list = append(list, ip)
		} else if host := ingress.Get("hostname").Text(); host != "" {
			list = append(list, host)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// CellServicePorts lists the ports: "80/TCP,443:30443/TCP".
func (Policy) CellServicePorts(obj document.Value) any {
	var text []byte
	for _, port := range obj.At("spec", "ports").Elements() {
		if len(text) > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, number(port.Get("port")), 10)
		if n := number(port.Get("nodePort")); n > 0 {
			text = strconv.AppendInt(append(text, ':'), n, 10)
		}
		text = port.Get("protocol").AppendText(append(text, '/'))
	}
	if len(text) == 0 {
		return none
	}
	return string(text)
}
