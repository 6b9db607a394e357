package policy

import (
	"fmt"

	"github.com/capstan-dev/capstan/internal/document"
)

// Ports of containers are often only a hint, so that most conflicts between them are not refused. Releases from 1.28 on warn of them.

// containerPort is a port of a container with its place in the pod.
type containerPort struct {
	Name                    string
	HostPort, ContainerPort int64
	Protocol, HostIP        string
}

// portsIn visits the ports of all containers of a pod.
func portsIn(spec document.Value, visit func(v document.Value, p containerPort)) {
	for container := range containersIn(spec, "initContainers", "containers", "ephemeralContainers") {
		for _, v := range container.Get("ports").Elements() {
			visit(v, containerPort{v.Get("name").Text(), number(v.Get("hostPort")), number(v.Get("containerPort")), v.Get("protocol").Text(), v.Get("hostIP").Text()})
		}
	}
}

// conflict names the conflict of two ports with the same number and protocol, "" for none.
func (p containerPort) conflict(other containerPort) string {
	switch {
	case p.HostIP == other.HostIP && p.HostPort == other.HostPort:
		return "duplicate"
	case p.HostPort == 0 || other.HostPort == 0:
		return "overlapping"
	case p.HostPort == other.HostPort && (p.HostIP == "") != (other.HostIP == ""):
		return "dangerously ambiguous"
	}
	return ""
}

// maxPortPairs bounds the ports that are compared with each other: a pod with as many ports of one number has more warnings than an
// answer can have.
const maxPortPairs = 1 << 16

// sharedPorts warns of ports that several entries name, and of addresses of the node without a port there.
func (w *warnings) sharedPorts(spec document.Value) {
	type entry struct {
		path string
		containerPort
	}
	type kind struct {
		number   int64
		protocol string
	}
	taken, pairs := map[kind][]entry{}, 0
	portsIn(spec, func(v document.Value, p containerPort) {
		if p.HostIP != "" && p.HostPort == 0 {
			w.add(v.Path(), fmt.Sprintf("hostIP set without hostPort: %+v", p))
		}
		of := kind{p.ContainerPort, p.Protocol}
		for _, other := range taken[of] {
			if pairs++; pairs > maxPortPairs {
				return
			}
			if what := p.conflict(other.containerPort); what != "" {
				w.add(v.Path(), what+" port definition with "+other.path)
			}
		}
		taken[of] = append(taken[of], entry{v.Path(), p})
	})
}

// portNames warns of names that several ports have.
func (w *warnings) portNames(spec document.Value) {
	taken := map[string]string{}
	portsIn(spec, func(v document.Value, p containerPort) {
		if p.Name == "" {
			return
		}
		first, found := taken[p.Name]
		if !found {
			taken[p.Name] = v.Path()
			return
		}
		w.add(v.Path(), fmt.Sprintf("duplicate port name %q with %s, services and probes that select ports by name will use %s", p.Name, first, first))
	})
}
