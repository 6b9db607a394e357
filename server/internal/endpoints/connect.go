package endpoints

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Some subresources connect to processes in the cluster: logs and commands by the agents of
// the nodes, ports of pods and services directly. Mistakes that show in the stored objects
// are answered without a connection.

func unavailable(message string) *api.Error {
	return &api.Error{Code: http.StatusServiceUnavailable, Reason: api.ReasonServiceUnavailable, Message: message}
}

// podLog is GET on a pod's log: a pod without a node has written nothing.
func (x *Endpoints) podLog(r *request.Request) error {
	if err := checkLogOptions(r); err != nil {
		return err
	}
	at, err := x.placeOf(r, r.Query.Get("container"), true)
	if err != nil {
		return err
	}
	if at.node == "" {
		r.Head(http.StatusNoContent, "")
		return nil
	}
	query := url.Values{}
	for _, name := range []string{"follow", "previous", "timestamps"} {
		if r.Query.Has(name) && isTrue(r.Query.Get(name)) {
			query.Set(name, "true")
		}
	}
	for _, name := range []string{"sinceSeconds", "sinceTime", "tailLines", "limitBytes"} {
		if v := r.Query.Get(name); v != "" {
			query.Set(name, v)
		}
	}
	insecure := r.Query.Has("insecureSkipTLSVerifyBackend") && isTrue(r.Query.Get("insecureSkipTLSVerifyBackend"))
	return x.askAgent(r, at, "/containerLogs/"+r.Target.Namespace+"/"+r.Target.Name+"/"+at.container, query, insecure, plainLog)
}

// logNumbers are the numbers in the options of a log, with the least of each.
var logNumbers = []struct {
	name  string
	least int64
}{{"limitBytes", 1}, {"sinceSeconds", 1}, {"tailLines", 0}}

// checkLogOptions checks the query of a log.
func checkLogOptions(r *request.Request) error {
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
	since := r.Query.Get("sinceTime")
	if _, err := time.Parse(time.RFC3339, since); since != "" && err != nil {
		return api.BadRequest("query parameter sinceTime: %q is not a time like 2006-01-02T15:04:05Z", since)
	}
	if r.Query.Get("sinceSeconds") != "" && since != "" {
		c.Add(schema.CauseForbidden, "[]", "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified")
	}
	if len(c) > 0 {
		return api.Invalid("", "PodLogOptions", r.Target.Name, c)
	}
	return nil
}

// runInPod is exec and attach, on one container.
func (x *Endpoints) runInPod(r *request.Request) error { return x.enterPod(r, true) }

// forwardPorts is port forwarding, on the pod as a whole.
func (x *Endpoints) forwardPorts(r *request.Request) error { return x.enterPod(r, false) }

func (x *Endpoints) enterPod(r *request.Request, one bool) error {
	options, err := x.admitConnection(r)
	if err != nil {
		return err
	}
	defer options.Release()
	at, err := x.placeOf(r, options.Root().Get("container").Text(), one)
	switch {
	case err != nil:
		return err
	case at.node == "":
		return api.BadRequest("pod %s does not have a host assigned", r.Target.Name)
	case at.failure == nil && r.Upgrade() == "":
		return api.BadRequest("Upgrade request required")
	}
	path := "/" + r.Target.Sub.Name + "/" + r.Target.Namespace + "/" + r.Target.Name + "/" + at.container
	if !one {
		path = "/portForward/" + r.Target.Namespace + "/" + r.Target.Name
	}
	return x.askAgent(r, at, path, agentQuery(options.Root()), false, nil)
}

// agentQuery are the options of a connection in the words of agents.
func agentQuery(options document.Value) url.Values {
	query := url.Values{}
	for name, word := range map[string]string{"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"} {
		if options.Get(name).Bool() {
			query.Set(word, "1")
		}
	}
	for _, c := range options.Get("command").Texts() {
		query.Add("command", c)
	}
	var ports []string
	for _, p := range options.Get("ports").Elements() {
		n, _ := p.Int()
		ports = append(ports, strconv.FormatInt(n, 10))
	}
	if ports != nil {
		query.Set("port", strings.Join(ports, ","))
	}
	return query
}

// place is the place of a process.
type place struct {
	node       string // "" for a pod that has none yet
	host, port string // of the node's agent
	failure    error  // the reason why there are none
	container  string // in the pod; "" for the pod as a whole
}

// placeOf finds the node of the request's pod and, for a request about a container, checks
// that the pod has it; "" is its only one. Errors: no such pod, container or node.
func (x *Endpoints) placeOf(r *request.Request, container string, one bool) (at place, err error) {
	res := r.Target.Row
	pod, release, err := x.reader.Get(r.Context, res.GV.Group, res.Plural, r.Target.Namespace, r.Target.Name)
	defer release()
	if err != nil {
		return at, err
	}
	if one {
		if at.container, err = findContainer(r.Target.Name, container, pod.Get("spec")); err != nil {
			return at, err
		}
	}
	if at.node = pod.At("spec", "nodeName").Text(); at.node == "" {
		return at, nil
	}
	node, release, err := x.reader.Get(r.Context, "", "nodes", "", at.node)
	defer release()
	if err == nil {
		at.host, at.port, at.failure = x.agents.Address(node)
	}
	return at, missingFor(r, at.node, err)
}

// missingFor is the error of a request that needs another object, with a name: of one that
// is missing 1.25 says that it is of the resource of the request.
func missingFor(r *request.Request, name string, err error) error {
	if api.IsReason(err, api.ReasonNotFound) {
		return api.NotFound(r.Target.Row.GroupResource(), name)
	}
	return err
}

// findContainer finds the container of a pod that a request names. Only a pod with
// one container needs no name.
func findContainer(pod, name string, spec document.Value) (string, error) {
	names := func(list string) (all []string) {
		for _, c := range spec.Get(list).Elements() {
			all = append(all, c.Get("name").Text())
		}
		return all
	}
	main, first := names("containers"), names("initContainers")
	switch {
	case name == "" && len(main) == 1:
		return main[0], nil
	case name != "" && slices.Contains(slices.Concat(main, first, names("ephemeralContainers")), name):
		return name, nil
	case name != "":
		return "", api.BadRequest("container %s is not valid for pod %s", name, pod)
	}
	message := fmt.Sprintf("a container name must be specified for pod %s, choose one of: %v", pod, main)
	if len(first) > 0 {
		message += fmt.Sprintf(" or one of the init containers: %v", first)
	}
	return "", api.BadRequest("%s", message)
}
