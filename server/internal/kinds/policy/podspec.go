package policy

import (
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// ValidatePodSpec checks the spec of a pod, or of a template of pods.
func (p Policy) ValidatePodSpec(spec document.Value) []schema.Cause {
	var c causes
	volumes := c.volumes(spec.Get("volumes"))
	var containers document.Texts
	for _, container := range spec.Get("containers").Elements() {
		p.container(&c, container, spec, &containers, volumes)
		p.lifecycle(&c, container, spec)
		p.containerRestarts(&c, container, false)
	}
	for _, container := range spec.Get("initContainers").Elements() {
		p.container(&c, container, spec, &containers, volumes)
		p.initContainer(&c, container, spec)
	}
	for _, container := range spec.Get("ephemeralContainers").Elements() {
		c.ephemeralContainer(container, containers)
	}
	for _, container := range spec.Get("ephemeralContainers").Elements() {
		p.container(&c, container, spec, &containers, volumes)
	}
	p.hostPorts(&c, spec)
	p.dns(&c, spec)
	if overhead := spec.Get("overhead"); !isEmpty(overhead) { // its entries have the names of limits
		c.amounts(overhead.Path, document.Value{}, overhead)
	}
	p.spreadConstraints(&c, spec.Get("topologySpreadConstraints"))
	c.hostProcess(spec)
	c.operatingSystem(spec)
	if p.since("1.26") {
		p.later(&c, spec)
	}
	return c.Causes
}

// later checks what pods have had since 1.26.
func (p Policy) later(c *causes, spec document.Value) {
	if p.on("PodLevelResources") {
		c.podLevel(spec)
	}
	if isFalse(spec.Get("hostUsers")) {
		p.ownUsers(c, spec)
	}
	affinityTerms(spec, c.labelKeys)
	if p.since("1.29") {
		c.hostSysctls(spec)
	}
	if p.since("1.32") {
		c.labelsOfNodes(spec)
		if policy := spec.At("securityContext", "seLinuxChangePolicy"); policy.Equals("MountOption") && !p.on("SELinuxMount") {
			c.NotSupported(policy, "Recursive")
		}
	}
	if p.since("1.34") {
		c.filesOfVariables(spec)
	}
	if p.since("1.35") {
		p.comparisons(c, spec.Get("tolerations"))
	}
}

// comparisons checks tolerations of taints whose values are numbers.
func (p Policy) comparisons(c *causes, tolerations document.Value) {
	for _, toleration := range tolerations.Elements() {
		operator, value := toleration.Get("operator"), toleration.Get("value").Text()
		if !operator.Equals("Lt") && !operator.Equals("Gt") {
			continue
		}
		if !p.on("TaintTolerationComparisonOperators") {
			c.NotSupported(operator, "Equal", "Exists", "Lt", "Gt")
			continue
		}
		if n, err := strconv.ParseInt(value, 10, 64); err != nil || strconv.FormatInt(n, 10) != value {
			c.InvalidText(member(toleration, "value"), value, "must be a decimal number of 64 bits")
		}
	}
}

// ownUsers checks a pod with a user namespace of its own: it shares no other namespace with its node.
func (p Policy) ownUsers(c *causes, spec document.Value) {
	const why = "when `hostUsers` is false"
	if spec.Get("hostNetwork").Bool() && !p.on("UserNamespacesHostNetworkSupport") {
		c.Forbidden(member(spec, "hostNetwork"), why)
	}
	for _, name := range [...]string{"HostPID", "HostIPC"} { // as causes spell them
		if spec.Get("h" + name[1:]).Bool() {
			c.Forbidden(member(spec, name), why)
		}
	}
	if !p.since("1.34") {
		return
	}
	for container := range containersIn(spec, podContainers[:]...) {
		if devices := container.Get("volumeDevices"); !isEmpty(devices) {
			c.Forbidden(devices.Path(), why)
		}
	}
}

// labelsOfNodes checks the values that a required affinity compares labels with.
func (c *causes) labelsOfNodes(spec document.Value) {
	terms := spec.At("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
	for _, term := range terms.Elements() {
		for _, expression := range term.Get("matchExpressions").Elements() {
			if operator := expression.Get("operator"); !operator.Equals("In") && !operator.Equals("NotIn") {
				continue
			}
			for _, value := range expression.Get("values").Elements() {
				c.Format(value, "label-value")
			}
		}
	}
}

// filesOfVariables checks that the files with variables are in volumes that are empty at first.
func (c *causes) filesOfVariables(spec document.Value) {
	volumes, mark := spec.Get("volumes"), len(c.Causes)
	for container := range containersIn(spec, "initContainers", "containers", "ephemeralContainers") {
		for _, env := range container.Get("env").Elements() {
			ref := env.At("valueFrom", "fileKeyRef")
			if !isSet(ref) {
				continue
			}
			name := ref.Get("volumeName")
			switch volume := volumes.ElementBy("name", name.Text()); {
			case !volume.Exists():
				c.Add(schema.CauseNotFound, member(ref, "volumeName"), "Not found: "+strconv.Quote(name.Text()))
			case !isSet(volume.Get("emptyDir")):
				c.Invalid(name, "referenced volume must be of type emptyDir")
			}
		}
	}
	c.PlaceAt(mark, member(spec, "schedulingGroup")) // after all others
}

// hostSysctls checks that a pod does not set parameters of a namespace that it shares with its node.
func (c *causes) hostSysctls(spec document.Value) {
	network, ipc := spec.Get("hostNetwork").Bool(), spec.Get("hostIPC").Bool()
	if !network && !ipc {
		return
	}
	for _, sysctl := range spec.At("securityContext", "sysctls").Elements() {
		name := sysctl.Get("name")
		switch text := strings.ReplaceAll(name.Text(), "/", "."); {
		case network && strings.HasPrefix(text, "net."):
			c.Invalid(name, "may not be specified when 'hostNetwork' is true")
		case ipc && isIPC(text):
			c.Invalid(name, "may not be specified when 'hostIPC' is true")
		}
	}
}

// isIPC reports whether a parameter is one of the namespace of inter-process communication.
func isIPC(name string) bool {
	return name == "kernel.sem" || strings.HasPrefix(name, "kernel.shm") || strings.HasPrefix(name, "kernel.msg") || strings.HasPrefix(name, "fs.mqueue.")
}

// maxSearches is the limit of all search domains of a pod together, in characters.
const maxSearches = 256

// dns checks the name resolution of a pod.
func (p Policy) dns(c *causes, spec document.Value) {
	searches, total := spec.At("dnsConfig", "searches"), -1
	for _, search := range searches.Elements() {
		total += len(search.Text()) + 1
	}
	if total > maxSearches {
		c.Invalid(searches, "must not have more than 256 characters (including spaces) in the search list")
	}
	if p.since("1.32") { // before, by the schema
		p.searches(c, searches)
	}
}

// searches checks search domains. Those with an underscore, and the root alone, need a gate.
func (p Policy) searches(c *causes, searches document.Value) {
	relaxed := p.on("RelaxedDNSSearchValidation")
	for _, search := range searches.Elements() {
		if !relaxed {
			c.Format(search, "domain-name")
			continue
		}
		if text := search.Text(); text != "." {
			for _, problem := range document.CheckFormat("dns1123-subdomain", strings.ReplaceAll(strings.TrimSuffix(text, "."), "_", "0")) {
				c.InvalidText(search.Path(), strings.TrimSuffix(text, "."), problem)
			}
		}
	}
}

// hostPorts checks the ports that containers use on their node: each may be used once,
// and in the host's network they are the containers' own. Init containers run one after
// the other, so each has the node to itself.
func (p Policy) hostPorts(c *causes, spec document.Value) {
	var taken document.Texts
	hostNetwork := spec.Get("hostNetwork").Bool()
	for _, container := range spec.Get("containers").Elements() {
		ports := container.Get("ports")
		c.takePorts(ports, &taken)
		if hostNetwork {
			p.sharedPorts(c, ports, member(spec, "securityContext"))
		}
	}
	for _, container := range spec.Get("initContainers").Elements() {
		c.takePorts(container.Get("ports"), new(document.Texts))
	}
}

// sharedPorts checks ports in the host's network, at the position of the security
// context.
func (p Policy) sharedPorts(c *causes, ports document.Value, turn string) {
	before := len(c.Causes)
	for _, port := range ports.Elements() {
		own, host := port.Get("containerPort"), port.Get("hostPort")
		switch {
		case number(own) == number(host):
		case p.since("1.28"):
			if number(host) != 0 { // a pod has it filled in
				c.Invalid(host, "must match `containerPort` when `hostNetwork` is true")
			}
		default:
			c.InvalidAt(member(port, "containerPort"), own, "must match `hostPort` when `hostNetwork` is true")
		}
	}
	c.PlaceAt(before, turn)
}

func (c *causes) takePorts(ports document.Value, taken *document.Texts) {
	for _, port := range ports.Elements() {
		host := port.Get("hostPort")
		if number(host) == 0 {
			continue
		}
		if !taken.Add(port.Get("protocol").Text() + "/" + port.Get("hostIP").Text() + "/" + document.Shown(host)) {
			c.Duplicate(host)
		}
	}
}
