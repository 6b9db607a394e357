package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
)

// maxSysctl is the limit of a kernel parameter's name, in bytes.
const maxSysctl = 253

// podSecurity checks the security settings of a pod as a whole.
func (c *causes) podSecurity(spec document.Value) {
	for _, sysctl := range spec.At("securityContext", "sysctls").Elements() {
		if name := sysctl.Get("name"); len(name.Text()) > maxSysctl {
			c.Invalid(name, "must have at most "+strconv.Itoa(maxSysctl)+" characters")
		}
	}
}
