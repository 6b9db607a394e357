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
	if share := spec.Get("shareProcessNamespace"); share.Bool() && spec.Get("hostPID").Bool() {
		c.invalidAt(member(spec, "securityContext", "shareProcessNamespace"), share, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	context := spec.Get("securityContext")
	var sysctls names
	for _, sysctl := range context.Get("sysctls").Elements() {
		switch name := sysctl.Get("name"); {
		case len(name.Text()) > maxSysctl:
			c.invalid(name, "must have at most "+strconv.Itoa(maxSysctl)+" characters")
		case name.Text() != "" && !sysctls.add(name.Text()):
			c.duplicate(name)
		}
	}
}

// ValidateSecurityContext checks the security settings of a container.
func (Policy) ValidateSecurityContext(context document.Value) []schema.Cause {
	var c causes
	if escalation := context.Get("allowPrivilegeEscalation"); isSet(escalation) && !escalation.Bool() {
		if context.Get("privileged").Bool() {
			c.invalid(context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		}
		for _, capability := range context.At("capabilities", "add").Elements() {
			if capability.Equals("CAP_SYS_ADMIN") {
				c.invalid(context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
			}
		}
	}
	if mount := context.Get("procMount"); isSet(mount) && !mount.Equals("Default") && !mount.Equals("Unmasked") {
		c.notSupported(mount, "Default", "Unmasked")
	}
	return c
}

// ValidateSeccompProfile checks that a profile of the node is named where it is meant,
// and only there.
func (Policy) ValidateSeccompProfile(profile document.Value) []schema.Cause {
	var c causes
	local := profile.Get("localhostProfile")
	switch {
	case !profile.Get("type").Equals("Localhost"):
		if isSet(local) {
			c.invalid(local, "can only be set when seccomp type is Localhost")
		}
	case !isSet(local):
		c.required(member(profile, "localhostProfile"), "must be set when seccomp type is Localhost")
	default:
		c.format(local, "relative-path")
	}
	return c
}
