package policy

import "github.com/capstan-dev/capstan/internal/document"

// Settings without a meaning on Windows, of a pod and of a container.
var (
	podNotWindows        = []string{"hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"}
	podContextNotWindows = []string{"seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser",
		"runAsGroup", "supplementalGroups"}
	containerContextNotWindows = []string{"seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation",
		"procMount", "runAsUser", "runAsGroup"}
)

// laterContextNotWindows are the settings of both contexts that came since 1.25.
var laterContextNotWindows = []string{"appArmorProfile", "supplementalGroupsPolicy", "seLinuxChangePolicy"}

// operatingSystem checks that a pod that names its system has that system's settings
// only.
func (c *causes) operatingSystem(spec document.Value) {
	system := spec.At("os", "name").Text()
	if system == "" {
		return
	}
	if system == "windows" {
		c.notOnWindows(spec, podNotWindows)
	}
	c.systemContext(spec, system, podContextNotWindows)
	for container := range containersIn(spec, podContainers[:]...) {
		c.systemContext(container, system, containerContextNotWindows)
	}
}

// systemContext checks the security context of a pod or a container.
func (c *causes) systemContext(of document.Value, system string, notWindows []string) {
	context := of.Get("securityContext")
	switch system {
	case "windows":
		c.notOnWindows(context, notWindows)
		c.notOnWindows(context, laterContextNotWindows)
	case "linux":
		if options := context.Get("windowsOptions"); isSet(options) {
			c.Forbidden(options.Path(), "windows options cannot be set for a linux pod")
		}
	}
}

func (c *causes) notOnWindows(of document.Value, members []string) {
	for _, name := range members {
		if v := of.Get(name); isSet(v) && !((name == "hostPID" || name == "hostIPC") && !v.Bool()) {
			c.Forbidden(v.Path(), "cannot be set for a windows pod")
		}
	}
}
