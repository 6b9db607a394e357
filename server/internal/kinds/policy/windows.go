package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// hostProcess checks that containers that run on the node itself are all of their pod's,
// and in its network.
func (c *causes) hostProcess(spec document.Value) {
	const options, process = "windowsOptions", "hostProcess"
	pod := spec.At("securityContext", options, process)
	count, onHost := 0, 0
	for container := range containersIn(spec, podContainers[:]...) {
		count++
		own := container.At("securityContext", options, process)
		if isSet(pod) && isSet(own) && pod.Bool() != own.Bool() {
			c.Invalid(own, "must be that of the pod where both are specified")
		}
		if own.Bool() || !isSet(own) && pod.Bool() {
			onHost++
		}
	}
	if onHost == 0 {
		return
	}
	if onHost != count {
		c.InvalidText(spec.Path(), "", "either all containers are hostProcess containers or none is")
	}
	if network := spec.Get("hostNetwork"); !network.Bool() {
		c.Add(schema.CauseInvalid, member(spec, "hostNetwork"), "Invalid value: false: must be true if there are hostProcess containers")
	}
}
