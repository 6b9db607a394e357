package podsecurity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// setting is a rule about one setting of security contexts.
type setting struct {
	path           []string // below securityContext
	pod            bool     // the pod may have it for all containers
	right          []string // the possible values; nil for all but bad
	bad            string
	needed         bool   // a container without it breaks the rule like one with a wrong value
	wrong, missing string // the message, %v for the wrong values; missing is about containers without it, unless the pod has it; "" if it need not be set
}

func (s setting) allows(value string) bool {
	if s.right == nil {
		return value != s.bad
	}
	return slices.Contains(s.right, value)
}

func (s setting) judge(p pod) (string, int) {
	var setters, names, without []string
	var values set
	covered := false
	if v := p.spec.Get("securityContext").At(s.path...); s.pod && given(v) {
		if covered = s.allows(text(v)); !covered {
			setters = append(setters, "pod")
			values.add(text(v))
		}
	}
	for c := range p.containers() {
		v := c.Get("securityContext").At(s.path...)
		switch {
		case !given(v) && !s.needed:
			without = append(without, c.Get("name").Text())
		case !s.allows(text(v)):
			names = append(names, c.Get("name").Text())
			values.add(text(v))
		}
	}
	if names != nil {
		setters = append(setters, containers(names))
	}
	switch {
	case setters != nil:
		return strings.Join(setters, " and ") + " " + strings.ReplaceAll(s.wrong, "%v", quoted(values)), len(setters)
	case s.missing != "" && !covered && without != nil:
		return "pod or " + containers(without) + " " + s.missing, len(without)
	}
	return "", 0
}

// given reports whether a value is there.
func given(v document.Value) bool { return v.Exists() && !v.IsNull() }

// text is a scalar as it is written, without quotes.
func text(v document.Value) string {
	if v.Kind() == document.String || !v.Exists() {
		return v.Text()
	}
	return string(v.AppendJSON(nil))
}

func seccomp(missing string) func(p pod) (string, int) {
	return setting{path: []string{"seccompProfile", "type"}, pod: true, right: []string{"RuntimeDefault", "Localhost"},
		wrong: "must not set securityContext.seccompProfile.type to %v", missing: missing}.judge
}

// namelessProfiles finds profiles of the node without a name, which agents of nodes have
// taken for none.
func namelessProfiles(p pod) (string, int) {
	nameless := func(of document.Value) bool {
		profile := of.At("securityContext", "seccompProfile")
		name := profile.Get("localhostProfile")
		return profile.Get("type").Equals("Localhost") && given(name) && name.Text() == ""
	}
	var setters, names []string
	if nameless(p.spec) {
		setters = append(setters, "pod")
	}
	for c := range p.containers() {
		if nameless(c) {
			names = append(names, c.Get("name").Text())
		}
	}
	if names != nil {
		setters = append(setters, containers(names))
	}
	if setters == nil {
		return "", 0
	}
	return strings.Join(setters, " and ") + " must name a profile in securityContext.seccompProfile.localhostProfile", len(setters)
}

// annotated are the annotations that a rule forbids.
func (p pod) annotated(forbidden func(key, value string) bool) (found set) {
	for key, v := range p.metadata.Get("annotations").Members() {
		if forbidden(key, v.Text()) {
			found.add(key + "=" + strconv.Quote(v.Text()))
		}
	}
	return found
}

func appArmor(p pod) (string, int) {
	found := p.annotated(func(key, value string) bool {
		return strings.HasPrefix(key, appArmorPrefix) && value != "" && value != "runtime/default" && !strings.HasPrefix(value, "localhost/")
	})
	return strings.Join(found, ", "), len(found)
}

const (
	seccompPod       = "seccomp.security.alpha." + profile.LabelDomain + "/pod"
	seccompContainer = "container.seccomp.security.alpha." + profile.LabelDomain + "/"
)

func seccompAnnotations(p pod) (string, int) {
	keys := []string{seccompPod}
	for c := range p.containers() {
		keys = append(keys, seccompContainer+c.Get("name").Text())
	}
	found := p.annotated(func(key, value string) bool {
		return slices.Contains(keys, key) && value != "runtime/default" && value != "docker/default" && !strings.HasPrefix(value, "localhost/")
	})
	if found == nil {
		return "", 0
	}
	return "forbidden " + counted(len(found), "annotation") + " " + strings.Join(found, ", "), len(found)
}

var baselineCapabilities = strings.Fields("AUDIT_WRITE CHOWN DAC_OVERRIDE FOWNER FSETID KILL MKNOD NET_BIND_SERVICE SETFCAP SETGID SETPCAP SETUID SYS_CHROOT")

// addedCapabilities is the rule that containers add no others than the allowed ones.
func addedCapabilities(message string, allowed []string) func(p pod) (string, int) {
	return func(p pod) (string, int) {
		var names []string
		var values set
		for c := range p.containers() {
			wrong := false
			for _, name := range c.At("securityContext", "capabilities", "add").Texts() {
				if !slices.Contains(allowed, name) {
					wrong = true
					values.add(name)
				}
			}
			if wrong {
				names = append(names, c.Get("name").Text())
			}
		}
		if names == nil {
			return "", 0
		}
		return containers(names) + " " + strings.ReplaceAll(message, "%v", quoted(values)), len(names)
	}
}

func restrictedCapabilities(p pod) (string, int) {
	var keeping, details []string
	for c := range p.containers() {
		if !slices.Contains(c.At("securityContext", "capabilities", "drop").Texts(), "ALL") {
			keeping = append(keeping, c.Get("name").Text())
		}
	}
	if keeping != nil {
		details = append(details, containers(keeping)+` must set securityContext.capabilities.drop=["ALL"]`)
	}
	if detail, n := addedCapabilities(`must not include %v in securityContext.capabilities.add`, []string{"NET_BIND_SERVICE"})(p); n > 0 {
		details = append(details, detail)
	}
	return strings.Join(details, "; "), len(details)
}

func hostNamespaces(p pod) (string, int) {
	var found []string
	for _, name := range [...]string{"hostNetwork", "hostPID", "hostIPC"} {
		if p.spec.Get(name).Bool() {
			found = append(found, name+"=true")
		}
	}
	return strings.Join(found, ", "), len(found)
}

func hostPaths(p pod) (string, int) {
	var names []string
	for _, v := range p.spec.Get("volumes").Elements() {
		if given(v.Get("hostPath")) {
			names = append(names, v.Get("name").Text())
		}
	}
	if names == nil {
		return "", 0
	}
	return counted(len(names), "volume") + " " + quoted(names), len(names)
}

func hostPorts(p pod) (string, int) {
	var names []string
	var ports set
	for c := range p.containers() {
		uses := false
		for _, at := range c.Get("ports").Elements() {
			if port, _ := at.Get("hostPort").Int(); port != 0 {
				uses = true
				ports.add(strconv.FormatInt(port, 10))
			}
		}
		if uses {
			names = append(names, c.Get("name").Text())
		}
	}
	if names == nil {
		return "", 0
	}
	return containers(names) + " " + counted(len(names), "uses", "use") + " " + counted(len(ports), "hostPort") + " " + strings.Join(ports, ", "), len(names)
}

// seLinux has the words of 1.25, which name users and roles only besides a wrong type.
func seLinux(p pod) (string, int) {
	var setters, names []string
	var types set
	user, role := false, false
	wrong := func(v document.Value) bool {
		options := v.At("securityContext", "seLinuxOptions")
		kind := options.Get("type").Text()
		named, cast := options.Get("user").Text() != "", options.Get("role").Text() != ""
		user, role = user || named, role || cast
		typed := !slices.Contains([]string{"", "container_t", "container_init_t", "container_kvm_t"}, kind)
		if typed {
			types.add(kind)
		}
		return typed || named || cast
	}
	if wrong(p.spec) {
		setters = append(setters, "pod")
	}
	for c := range p.containers() {
		if wrong(c) {
			names = append(names, c.Get("name").Text())
		}
	}
	if names != nil {
		setters = append(setters, containers(names))
	}
	if setters == nil {
		return "", 0
	}
	var details []string
	if types != nil {
		details = append(details, counted(len(types), "type")+" "+quoted(types))
		if user {
			details = append(details, "user may not be set")
		}
		if role {
			details = append(details, "role may not be set")
		}
	}
	return strings.Join(setters, " and ") + " set forbidden securityContext.seLinuxOptions: " + strings.Join(details, "; "), len(setters)
}

var safeSysctls = strings.Fields("kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start")

func sysctls(p pod) (string, int) {
	var found []string
	for _, s := range p.spec.At("securityContext", "sysctls").Elements() {
		if name := s.Get("name").Text(); !slices.Contains(safeSysctls, name) {
			found = append(found, name)
		}
	}
	return strings.Join(found, ", "), len(found)
}

var freeVolumes = strings.Fields("configMap csi downwardAPI emptyDir ephemeral persistentVolumeClaim projected secret")

func restrictedVolumes(p pod) (string, int) {
	var names []string
	var types set
	for _, v := range p.spec.Get("volumes").Elements() {
		kind := "unknown"
		for name, source := range v.Members() { // a valid volume has one source
			if name != "name" && given(source) {
				kind = name
			}
		}
		if !slices.Contains(freeVolumes, kind) {
			names = append(names, v.Get("name").Text())
			types.add(kind)
		}
	}
	if names == nil {
		return "", 0
	}
	return counted(len(names), "volume") + " " + quoted(names) + " " + counted(len(names), "uses", "use") + " " +
		counted(len(types), "restricted volume type") + " " + quoted(types), len(names)
}
