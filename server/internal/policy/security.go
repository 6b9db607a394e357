package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
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

// ValidateSecurityContext checks the security settings of a container.
func (Policy) ValidateSecurityContext(context document.Value) []schema.Cause {
	var c causes
	if escalation := context.Get("allowPrivilegeEscalation"); isSet(escalation) && !escalation.Bool() {
		for _, capability := range context.At("capabilities", "add").Elements() {
			if capability.Equals("CAP_SYS_ADMIN") {
				c.Invalid(context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
			}
		}
	}
	return c.Causes
}
