package outbound

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// service is the part of a service by which its servers are found.
type service struct {
	kind     string // its type
	address  string // in the cluster; headless for none
	external string // the name of an ExternalName
	ports    map[int32]string
}

// The types of services that differ, and the address of a service without one.
const (
	clusterIP    = "ClusterIP"
	externalName = "ExternalName"
	headless     = "None"
)

// hasAddress reports whether services of the type have an address in the cluster.
func (s *service) hasAddress() bool {
	return s.kind == clusterIP || s.kind == "NodePort" || s.kind == "LoadBalancer"
}

func readService(obj document.Value) *service {
	spec := obj.Get("spec")
	s := &service{kind: strings.Clone(spec.Get("type").Text()), address: strings.Clone(spec.Get("clusterIP").Text()),
		external: strings.Clone(spec.Get("externalName").Text()), ports: map[int32]string{}}
	for _, port := range spec.Get("ports").Elements() {
		n, _ := port.Get("port").Int()
		if _, again := s.ports[int32(n)]; !again { // of another protocol: the first counts
			s.ports[int32(n)] = strings.Clone(port.Get("name").Text())
		}
	}
	return s
}

// endpoints are the ready servers of a service.
type endpoints struct{ subsets []subset }

// subset is servers that all have the same ports. It has at least one server.
type subset struct {
	ready []string
	ports map[string]int32 // by name
}

func readEndpoints(obj document.Value) *endpoints {
	all := &endpoints{}
	for _, v := range obj.Get("subsets").Elements() {
		s := subset{ports: map[string]int32{}}
		for _, a := range v.Get("addresses").Elements() {
			s.ready = append(s.ready, strings.Clone(a.Get("ip").Text()))
		}
		if s.ready == nil {
			continue
		}
		for _, port := range v.Get("ports").Elements() {
			n, _ := port.Get("port").Int()
			if name := port.Get("name").Text(); s.ports[name] == 0 {
				s.ports[strings.Clone(name)] = int32(n)
			}
		}
		all.subsets = append(all.subsets, s)
	}
	return all
}
