package policy

import (
	"net"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ingressClassAnnotation is the older way to name the class of an ingress.
const ingressClassAnnotation = labelDomain + "/ingress.class"

// CreateIngress begins an ingress's life.
func (Policy) CreateIngress(obj document.Value) { obj.SetObject("status").SetObject("loadBalancer") }

// ValidateIngress checks hosts, paths and backends.
func (Policy) ValidateIngress(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	class := obj.At("metadata", "annotations", ingressClassAnnotation)
	if !old.Exists() && class.Exists() && isSet(spec.Get("ingressClassName")) {
		c.invalidAt("annotations."+ingressClassAnnotation, class, "can not be set when the class field is also set")
	}
	if isEmpty(spec.Get("rules")) && !isSet(spec.Get("defaultBackend")) {
		c.invalid(spec, "either `defaultBackend` or `rules` must be specified")
	}
	c.balanced(obj.At("status", "loadBalancer"))
	c.ingressBackend(spec.Get("defaultBackend"))
	for _, entry := range spec.Get("tls").Elements() {
		for _, host := range entry.Get("hosts").Elements() {
			c.hostName(host)
		}
		if secret := entry.Get("secretName"); !isEmpty(secret) {
			c.format(secret, "dns1123-subdomain")
		}
	}
	for _, rule := range spec.Get("rules").Elements() {
		if host := rule.Get("host"); !isEmpty(host) {
			if net.ParseIP(host.Text()) != nil {
				c.invalid(host, "must be a DNS name, not an IP address")
			}
			c.hostName(host)
		}
		for _, path := range rule.At("http", "paths").Elements() {
			if isSet(path.Get("pathType")) { // of others no more is said
				c.ingressPath(path)
				c.ingressBackend(path.Get("backend"))
			}
		}
	}
	return c
}

// balanced checks that the addresses of a load balancer are addresses and
// names.
func (c *causes) balanced(status document.Value) {
	for _, entry := range status.Get("ingress").Elements() {
		if ip := entry.Get("ip"); !isEmpty(ip) {
			c.format(ip, "ip")
		}
		if name := entry.Get("hostname"); !isEmpty(name) {
			c.format(name, "dns1123-subdomain")
			if net.ParseIP(name.Text()) != nil {
				c.invalid(name, "must be a DNS name, not an IP address")
			}
		}
	}
}

// hostName checks a host name whose first label may be a star.
func (c *causes) hostName(host document.Value) {
	if !strings.Contains(host.Text(), "*") {
		c.format(host, "dns1123-subdomain")
		return
	}
	for _, problem := range validation.IsWildcardDNS1123Subdomain(host.Text()) {
		c.invalid(host, problem)
	}
}

// ingressPath checks that a path is one that requests can have.
func (c *causes) ingressPath(entry document.Value) {
	v := entry.Get("path")
	path := v.Text()
	switch entry.Get("pathType").Text() {
	case "ImplementationSpecific":
		if path != "" && path[0] != '/' {
			c.invalid(v, "must be an absolute path")
		}
	case "Exact", "Prefix":
		if !strings.HasPrefix(path, "/") {
			c.invalidText(member(entry, "path"), path, "must be an absolute path")
		}
		for _, part := range [...]string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(path, part) {
				c.invalid(v, "must not contain '"+part+"'")
			}
		}
		for _, end := range [...]string{"/..", "/."} {
			if strings.HasSuffix(path, end) {
				c.invalid(v, "must not end with '"+end+"'")
			}
		}
	}
}

// ingressBackend checks that a backend is one thing.
func (c *causes) ingressBackend(backend document.Value) {
	service, resource := backend.Get("service"), backend.Get("resource")
	switch {
	case !isSet(backend):
	case isSet(service) && isSet(resource):
		c.invalidText(backend.Path(), "", "cannot set both resource and service backends")
	case isSet(resource):
		*c = append(*c, document.Validate(resource, nil)...)
		c.localReference(resource)
	case !isSet(service):
		c.invalidText(backend.Path(), "", "resource or service backend is required")
	default:
		*c = append(*c, document.Validate(service, nil)...)
		c.backendPort(backend, service.Get("port"))
	}
}

// backendPort checks that the port of a service has a name or a number.
func (c *causes) backendPort(backend, port document.Value) {
	switch name, number := !isEmpty(port.Get("name")), number(port.Get("number")) != 0; {
	case name && number:
		c.invalidText(backend.Path(), "", "cannot set both port name & port number")
	case !name && !number:
		c.required(backend.Path(), "port name or number is required")
	default:
		*c = append(*c, document.Validate(port, nil)...)
	}
}

// localReference checks a reference to an object of any kind.
func (c *causes) localReference(ref document.Value) {
	if group := ref.Get("apiGroup"); isSet(group) {
		c.format(group, "dns1123-subdomain")
	}
	for _, name := range [...]string{"kind", "name"} {
		if v := ref.Get(name); !isEmpty(v) {
			c.format(v, "path-segment")
		}
	}
}

// shownHosts is the number of hosts that the table shows.
const shownHosts = 3

// CellIngressHosts lists the hosts of the first rules, a star for all hosts.
func (Policy) CellIngressHosts(obj document.Value) any {
	var hosts []string
	rules, more := obj.At("spec", "rules"), false
	for _, rule := range rules.Elements() {
		more = more || len(hosts) == shownHosts
		if host := rule.Get("host").Text(); host != "" && !more {
			hosts = append(hosts, host)
		}
	}
	switch text := strings.Join(hosts, ","); {
	case text == "":
		return "*"
	case more:
		return text + " + " + strconv.Itoa(rules.Len()-shownHosts) + " more..."
	default:
		return text
	}
}

// CellIngressAddress lists the addresses of the load balancer.
func (Policy) CellIngressAddress(obj document.Value) any {
	return strings.Join(loadBalancerAddresses(obj), ",")
}

// CellIngressPorts lists the usual ports.
func (Policy) CellIngressPorts(obj document.Value) any {
	if isEmpty(obj.At("spec", "tls")) {
		return "80"
	}
	return "80, 443"
}
