package policy

import (
	"net"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ingressClassAnnotation is the older way to name the class of an ingress.
const ingressClassAnnotation = labelDomain + "/ingress.class"

// CreateIngress begins an ingress's life.
func (Policy) CreateIngress(obj document.Value) { obj.SetObject("status").SetObject("loadBalancer") }

// ValidateIngress checks hosts and paths.
func (Policy) ValidateIngress(obj, old document.Value) []schema.Cause {
	var c causes
	spec := obj.Get("spec")
	class := obj.At("metadata", "annotations", ingressClassAnnotation)
	if !old.Exists() && class.Exists() && isSet(spec.Get("ingressClassName")) {
		c.InvalidAt("annotations."+ingressClassAnnotation, class, "can not be set when the class field is also set")
	}
	for _, rule := range spec.Get("rules").Elements() {
		if host := rule.Get("host"); net.ParseIP(host.Text()) != nil {
			c.Invalid(host, "must be a DNS name, not an IP address")
		}
		for _, path := range rule.At("http", "paths").Elements() {
			c.ingressPath(path)
		}
	}
	return c.Causes
}

// ingressPath checks that requests can have a path.
func (c *causes) ingressPath(entry document.Value) {
	v := entry.Get("path")
	path := v.Text()
	switch entry.Get("pathType").Text() {
	case "ImplementationSpecific":
		if path != "" && path[0] != '/' {
			c.Invalid(v, "must be an absolute path")
		}
	case "Exact", "Prefix":
		if !strings.HasPrefix(path, "/") {
			c.InvalidText(member(entry, "path"), path, "must be an absolute path")
		}
		for _, part := range [...]string{"//", "/./", "/../", "%2f", "%2F"} {
			if strings.Contains(path, part) {
				c.Invalid(v, "must not contain '"+part+"'")
			}
		}
		for _, end := range [...]string{"/..", "/."} {
			if strings.HasSuffix(path, end) {
				c.Invalid(v, "must not end with '"+end+"'")
			}
		}
	}
}

// shownHosts is the number of hosts that the table shows.
const shownHosts = 3
