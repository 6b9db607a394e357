package policy

import "github.com/capstan-dev/capstan/internal/document"

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

// handler checks the port of a way to look.
func (c *causes) handler(of document.Value) {
	if name, v := of.Chosen(); name == "httpGet" || name == "tcpSocket" {
		c.portOrName(v, "port")
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
