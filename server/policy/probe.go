package policy

import "github.com/capstan-dev/capstan/internal/document"

// handlers are the ways to look into a container, in the order in which they
// are checked.
var handlers = [...]string{"exec", "httpGet", "tcpSocket", "grpc"}

// probes checks the probes and hooks of a container that keeps running.
func (c *causes) probes(container document.Value) {
	lifecycle := container.Get("lifecycle")
	for _, name := range [...]string{"postStart", "preStop"} {
		if hook := lifecycle.Get(name); isSet(hook) {
			c.handler(hook)
		}
	}
	for _, name := range [...]string{"livenessProbe", "readinessProbe", "startupProbe"} {
		probe := container.Get(name)
		if !isSet(probe) {
			continue
		}
		c.handler(probe)
		if name == "readinessProbe" {
			if grace := probe.Get("terminationGracePeriodSeconds"); isSet(grace) {
				c.invalid(grace, "must not be set for readinessProbes")
			}
		} else if threshold := probe.Get("successThreshold"); number(threshold) != 1 {
			c.invalidAt(member(probe, "successThreshold"), threshold, "must be 1")
		}
	}
}

// handler checks that there is one way to look, and its port.
func (c *causes) handler(of document.Value) {
	count := 0
	for _, name := range handlers {
		v := of.Get(name)
		if !isSet(v) {
			continue
		}
		if count++; count > 1 {
			c.forbidden(v.Path(), "may not specify more than 1 handler type")
			continue
		}
		if name == "httpGet" || name == "tcpSocket" {
			c.portOrName(v, "port")
		}
	}
	if count == 0 {
		c.required(of.Path(), "must specify a handler type")
	}
}

// portOrName checks a member that is the number or the name of a port.
func (c *causes) portOrName(of document.Value, name string) {
	v := of.Get(name)
	if v.Kind() == document.String {
		c.format(v, "port-name")
		return
	}
	if n := number(v); n < 1 || n > 65535 {
		c.invalidAt(member(of, name), v, "must be between 1 and 65535, inclusive")
	}
}
