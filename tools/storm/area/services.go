package area

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/site"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// services is the area of services that fight for few addresses and ports.
func services() Area {
	return Area{Name: "services", Weight: 6, Do: doServices, Rest: restServices, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"create", 30}, weighted{"delete", 24}, weighted{"retype", 16}, weighted{"readdress", 4}, weighted{"port", 8},
			weighted{"sweep", 1})
	}}
}

// service is one of a type, perhaps with an address and a port that it asks for.
func service(q stage.Request, n int) object {
	spec := object{"type": of(n, "ClusterIP", "NodePort", "LoadBalancer", "ClusterIP"), "ports": []object{{"port": 80}}}
	if n%3 == 0 {
		spec["clusterIP"] = address(n / 3)
	}
	if n%5 == 0 && spec["type"] != "ClusterIP" {
		spec["ports"] = []object{{"port": 80, "nodePort": site.FirstPort + n/5%site.NodePorts}}
	}
	return object{"metadata": meta(q, "web", 0), "spec": spec}
}

func address(n int) string { return fmt.Sprintf("10.9.0.%d", 2+n%(site.Addresses-1)) }

func doServices(_ context.Context, c *stage.Client, s program.Step) {
	q := stage.Request{Verb: "patch", Kind: stage.KindOf("services"), Namespace: Spaces[s.A%len(Spaces)], Name: fmt.Sprintf("s-%d", s.B%12),
		ContentType: "application/merge-patch+json"}
	switch s.Op {
	case "create":
		q.Mark = c.Mark()
		q.Verb, q.ContentType, q.Body = "create", "", service(q, s.C)
	case "delete":
		q.Verb, q.ContentType = "delete", ""
	case "retype":
		spec := object{"type": of(s.C, "ClusterIP", "NodePort", "ExternalName", "LoadBalancer")}
		switch spec["type"] {
		case "ExternalName":
			spec["externalName"], spec["clusterIP"], spec["clusterIPs"] = "example.com", nil, nil
		case "ClusterIP":
			spec["externalName"], spec["ports"] = nil, []object{{"port": 80}}
		default:
			spec["externalName"] = nil
		}
		q.Body = object{"spec": spec}
	case "readdress":
		q.Body = object{"spec": object{"clusterIP": address(s.C), "clusterIPs": []string{address(s.C)}}}
	case "port":
		q.Body = object{"spec": object{"ports": []object{{"port": 80, "nodePort": site.FirstPort + s.C%site.NodePorts}}}}
	case "sweep":
		q.Verb, q.Name, q.ContentType = "deletecollection", "", ""
		c.Do(q)
		return
	}
	c.Do(q)
}

// restServices deletes all services and takes the whole ranges once more.
func restServices(_ context.Context, c *stage.Client) {
	c.Quiet = true
	kind := stage.KindOf("services")
	_, all := c.List(stage.Watching{Kind: kind, Into: new(history.Recorder)}, 0)
	for _, o := range all {
		if o.Meta.Namespace != "default" {
			c.Do(stage.Request{Verb: "delete", Kind: kind, Namespace: o.Meta.Namespace, Name: o.Meta.Name})
		}
	}
	for i := range site.Addresses - 1 { // one is that of the server
		q := stage.Request{Verb: "create", Kind: kind, Namespace: Spaces[0], Name: fmt.Sprintf("all-%d", i)}
		spec := object{"ports": []object{{"port": 80}}}
		if i < site.NodePorts {
			spec["type"] = "NodePort"
		}
		q.Body = object{"metadata": object{"name": q.Name}, "spec": spec}
		var message string
		if !eventually(func() bool {
			call := c.Do(q)
			message = call.Message
			return call.Done()
		}) {
			c.Probe("leaked", "all services are gone, and number %d of %d cannot be made again: %s", i+1, site.Addresses-1, message)
			return
		}
	}
}
