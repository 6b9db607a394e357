package endpoints

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/front"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// Some subresources connect to processes in the cluster: logs, commands, ports. This
// server stores objects and does not connect to nodes and pods. It answers from the
// objects, as 1.25 does, and where only a connection could answer it reports that it
// makes none.

// unreachable is the answer where a connection out of the server would be needed.
func unreachable(what string) *api.Error {
	return unavailable("cannot reach " + what + ": this server keeps objects and connects to no node; ask the node itself")
}

func unavailable(message string) *api.Error {
	return &api.Error{Code: http.StatusServiceUnavailable, Reason: api.ReasonServiceUnavailable, Message: message}
}

// podLog is GET on a pod's log: a pod without a node has written nothing.
func (x *Endpoints) podLog(r *front.Request) error {
	if err := checkLogOptions(r); err != nil {
		return err
	}
	container := r.Query.Get("container")
	node, err := x.nodeOf(r, &container)
	if err != nil {
		return err
	}
	if node == "" {
		r.Head(http.StatusNoContent, "")
		return nil
	}
	return unreachable("node " + node)
}

// logNumbers are the numbers in the options of a log, with the least of each.
var logNumbers = []struct {
	name  string
	least int64
}{{"limitBytes", 1}, {"sinceSeconds", 1}, {"tailLines", 0}}

// checkLogOptions checks the query of a log.
func checkLogOptions(r *front.Request) error {
	var c objects.Causes
	for _, n := range logNumbers {
		v, err := r.Query.Integer(n.name)
		if err != nil {
			return err
		}
		if v != nil && *v < n.least {
			c.Add(schema.CauseInvalid, n.name, fmt.Sprintf("Invalid value: %d: must be greater than or equal to %d", *v, n.least))
		}
	}
	if r.Query.Get("sinceSeconds") != "" && r.Query.Get("sinceTime") != "" {
		c.Add(schema.CauseForbidden, "", "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified")
	}
	if len(c) > 0 {
		return api.Invalid("", "PodLogOptions", r.Target.Name, c)
	}
	return nil
}

// runInPod is exec and attach, on one container.
func (x *Endpoints) runInPod(r *front.Request) error { return x.enterPod(r, true) }

// forwardPorts is port forwarding, on the pod as a whole.
func (x *Endpoints) forwardPorts(r *front.Request) error { return x.enterPod(r, false) }

func (x *Endpoints) enterPod(r *front.Request, one bool) error {
	options, err := x.admitConnection(r)
	if err != nil {
		return err
	}
	defer options.Release()
	var container *string
	if one {
		container = new(string)
		*container = options.Root().Get("container").Text()
	}
	node, err := x.nodeOf(r, container)
	if err != nil {
		return err
	}
	if node == "" {
		return api.BadRequest("pod %s does not have a host assigned", r.Target.Name)
	}
	return unreachable("node " + node)
}

// nodeOf is the node of the request's pod, "" while it has none. It checks that the node
// exists and, for a request about a container, that the pod has it; "" is its only one.
func (x *Endpoints) nodeOf(r *front.Request, container *string) (string, error) {
	res := r.Target.Row
	pod, release, err := x.reader.Get(r.Context, res.GV.Group, res.Plural, r.Target.Namespace, r.Target.Name)
	defer release()
	if err != nil {
		return "", err
	}
	if container != nil {
		if err := checkContainer(r.Target.Name, *container, pod.Get("spec")); err != nil {
			return "", err
		}
	}
	node := pod.At("spec", "nodeName").Text()
	if node == "" {
		return "", nil
	}
	return node, x.exists(r.Context, "nodes", "", node)
}

// exists returns the 404 of a missing core object.
func (x *Endpoints) exists(ctx context.Context, plural, namespace, name string) error {
	_, release, err := x.reader.Get(ctx, "", plural, namespace, name)
	release()
	return err
}

// checkContainer finds the container of a pod that a request names. Only a pod with
// one container needs no name.
func checkContainer(pod, name string, spec document.Value) error {
	names := func(list string) (all []string) {
		for _, c := range spec.Get(list).Elements() {
			all = append(all, c.Get("name").Text())
		}
		return all
	}
	main, first := names("containers"), names("initContainers")
	switch {
	case name == "" && len(main) == 1:
		return nil
	case name != "" && slices.Contains(slices.Concat(main, first, names("ephemeralContainers")), name):
		return nil
	case name != "":
		return api.BadRequest("container %s is not valid for pod %s", name, pod)
	}
	message := fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v", pod, main)
	if len(first) > 0 {
		message += fmt.Sprintf(" or one of the init containers: %v", first)
	}
	return api.BadRequest("%s", message)
}

// proxy is every method on the proxy of a pod, a node or a service, whose name may have a
// scheme before and a port after it: "https:web:8443".
func (x *Endpoints) proxy(r *front.Request) error {
	options, err := x.admitConnection(r)
	if err != nil {
		return err
	}
	defer options.Release()
	t := r.Target
	name, port := t.Name, ""
	switch parts := strings.Split(t.Name, ":"); {
	case len(parts) == 2:
		name, port = parts[0], parts[1]
	case len(parts) == 3 && (parts[0] == "" || parts[0] == "http" || parts[0] == "https"):
		name, port = parts[1], parts[2]
	case len(parts) > 2:
		return api.BadRequest("invalid %s request %q: use name, name:port or scheme:name:port", strings.TrimSuffix(t.Row.Plural, "s"), t.Name)
	}
	obj, release, err := x.reader.Get(r.Context, t.Row.GV.Group, t.Row.Plural, t.Namespace, name)
	defer release()
	if err != nil {
		return err
	}
	switch t.Sub.Endpoint {
	case api.EndpointProxyService:
		return x.proxyService(r, obj, name, port)
	case api.EndpointProxyPod:
		if obj.At("status", "podIP").Text() == "" {
			return api.BadRequest("address not allowed: pod %s has no address yet", name)
		}
	}
	return unreachable(strings.TrimSuffix(t.Row.Plural, "s") + " " + name)
}

func (x *Endpoints) proxyService(r *front.Request, service document.Value, name, port string) error {
	found := port == ""
	for _, p := range service.At("spec", "ports").Elements() {
		n, _ := p.Get("port").Int()
		found = found || p.Get("name").Equals(port) || strconv.FormatInt(n, 10) == port
	}
	if !found {
		return unavailable(fmt.Sprintf("no service port %q found for service %q", port, name))
	}
	endpoints, release, err := x.reader.Get(r.Context, "", "endpoints", r.Target.Namespace, name)
	defer release()
	if err != nil {
		return err
	}
	for _, subset := range endpoints.Get("subsets").Elements() {
		if subset.Get("addresses").Len() > 0 {
			return unreachable("service " + name)
		}
	}
	return unavailable(fmt.Sprintf("no endpoints available for service %q", name))
}
