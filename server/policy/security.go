package policy

import "github.com/capstan-dev/capstan/internal/document"

// podSecurity checks the security settings of a pod as a whole.
func (c *causes) podSecurity(spec document.Value) {
	if share := spec.Get("shareProcessNamespace"); share.Bool() && spec.Get("hostPID").Bool() {
		c.invalid(share, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	context := spec.Get("securityContext")
	var sysctls names
	for _, sysctl := range context.Get("sysctls").Elements() {
		if name := sysctl.Get("name"); name.Text() != "" && !sysctls.add(name.Text()) {
			c.duplicate(name)
		}
	}
	c.seccomp(context.Get("seccompProfile"))
	c.windowsOptions(context.Get("windowsOptions"))
}

// containerSecurity checks the security settings of a container.
func (c *causes) containerSecurity(context document.Value) {
	if !isSet(context) {
		return
	}
	if escalation := context.Get("allowPrivilegeEscalation"); isSet(escalation) && !escalation.Bool() {
		if context.Get("privileged").Bool() {
			c.invalid(context, "cannot set `allowPrivilegeEscalation` to false and `privileged` to true")
		}
		if has(context.At("capabilities", "add"), "CAP_SYS_ADMIN") {
			c.invalid(context, "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN")
		}
	}
	if mount := context.Get("procMount"); isSet(mount) && !mount.Equals("Default") && !mount.Equals("Unmasked") {
		c.notSupported(mount, "Default", "Unmasked")
	}
	c.seccomp(context.Get("seccompProfile"))
	c.windowsOptions(context.Get("windowsOptions"))
}

// seccomp checks that a profile of the node is named where it is meant, and only
// there.
func (c *causes) seccomp(profile document.Value) {
	local := profile.Get("localhostProfile")
	switch {
	case !isSet(profile):
	case !profile.Get("type").Equals("Localhost"):
		if isSet(local) {
			c.invalid(local, "can only be set when seccomp type is Localhost")
		}
	case isEmpty(local):
		c.required(member(profile, "localhostProfile"), "must be set when seccomp type is Localhost")
	default:
		c.descending(local)
	}
}

// maxCredentialSpec is the limit of a Windows credential spec, in bytes.
const maxCredentialSpec = 64 << 10

func (c *causes) windowsOptions(options document.Value) {
	if !isSet(options) {
		return
	}
	if name := options.Get("gmsaCredentialSpecName"); isSet(name) {
		c.format(name, "dns1123-subdomain")
	}
	if spec := options.Get("gmsaCredentialSpec"); isSet(spec) {
		switch size := len(spec.Text()); {
		case size == 0:
			c.invalid(spec, "gmsaCredentialSpec cannot be an empty string")
		case size > maxCredentialSpec:
			c.tooLong(spec.Path(), maxCredentialSpec)
		}
	}
	if user := options.Get("runAsUserName"); isSet(user) && user.Text() == "" {
		c.invalid(user, "runAsUserName cannot be an empty string")
	}
}
