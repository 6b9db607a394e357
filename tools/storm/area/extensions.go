package area

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// extensions is the area of extension servers that are registered, fail, are slow, go away
// and come back, while their objects and the lists of all kinds are read.
func extensions() Area {
	return Area{Name: "extensions", Weight: 3, Prepare: prepareExtensions, Do: doExtensions, Rest: restExtensions, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"register", 8}, weighted{"drop", 4}, weighted{"become", 6}, weighted{"get", 40}, weighted{"discover", 10})
	}}
}

// extensionServers is their number; each serves one group, and all are one server of
// this process.
const extensionServers = 3

// extensionModes are the present conduct of each extension server.
var extensionModes [extensionServers]atomic.Pointer[string]

var extensionServer = sync.OnceValue(func() *httptest.Server {
	s := httptest.NewUnstartedServer(http.HandlerFunc(extend))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.EnableHTTP2 = true
	s.StartTLS()
	return s
})

// extensionGroup is the begin of the group of an extension server.
func extensionGroup(n int) string { return fmt.Sprint("x", n) }

// extend answers /apis/GROUP/v1, and below it a thing with any name.
func extend(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	n := 0
	if len(path) > 1 {
		n, _ = strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path[1], "x"), promise.ExtensionGroup))
	}
	switch *extensionModes[n].Load() {
	case "failing":
		w.WriteHeader(http.StatusInternalServerError)
		return
	case "away":
		panic(http.ErrAbortHandler)
	case "slow":
		time.Sleep(300 * time.Millisecond)
	case "stuck":
		select {
		case <-r.Context().Done():
		case <-time.After(2 * time.Second):
		}
	}
	var answer object
	switch {
	case len(path) == 3:
		answer = object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": path[1] + "/v1", "resources": []object{{"name": promise.Things,
			"singularName": "thing", "kind": "Thing", "verbs": []string{"get"}}}}
	case len(path) == 5:
		answer = object{"kind": "Thing", "apiVersion": path[1] + "/v1", "metadata": object{"name": path[4], "resourceVersion": "1"}}
	default:
		w.WriteHeader(http.StatusNotImplemented) // 404 would be an answer of the server under test
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // the server under test may be gone
}

// prepareExtensions makes the service of all extension servers.
func prepareExtensions(c *stage.Client) error {
	fine := "fine"
	for n := range extensionModes {
		extensionModes[n].Store(&fine)
	}
	call := c.Do(stage.Request{Verb: "create", Kind: stage.KindOf("services"), Namespace: "default", Body: object{"metadata": object{"name": "extension"},
		"spec": object{"type": "ExternalName", "externalName": "localhost"}}})
	if !call.Done() {
		return fmt.Errorf("service: %s", call.Message)
	}
	return nil
}

// registration is the API service of an extension server.
func registration(n, priority int) object {
	_, port, _ := net.SplitHostPort(extensionServer().Listener.Addr().String())
	number, _ := strconv.Atoi(port)
	group := extensionGroup(n) + promise.ExtensionGroup
	return object{"metadata": object{"name": "v1." + group}, "spec": object{"group": group, "version": "v1", "groupPriorityMinimum": 1000 + priority,
		"versionPriority": 15, "insecureSkipTLSVerify": true, "service": object{"namespace": "default", "name": "extension", "port": number}}}
}

func doExtensions(_ context.Context, c *stage.Client, s program.Step) {
	n := s.A % extensionServers
	switch s.Op {
	case "register":
		set(c, stage.KindOf("apiservices"), registration(n, s.C))
	case "drop":
		c.Do(stage.Request{Verb: "delete", Kind: stage.KindOf("apiservices"), Name: "v1." + extensionGroup(n) + promise.ExtensionGroup})
	case "become":
		mode := of(s.C, "fine", "fine", "failing", "away", "slow", "fine", "stuck")
		extensionModes[n].Store(&mode)
	case "get":
		getThing(c, n)
	case "discover":
		discover(c, "apps", true)
	}
}

// getThing reads an object of an extension server by a name that nobody else asks for.
func getThing(c *stage.Client, n int) bool {
	kind := stage.Kind{Resource: promise.Things, Kind: "Thing", Group: extensionGroup(n) + promise.ExtensionGroup, Version: "v1"}
	return c.Do(stage.Request{Verb: "get", Kind: kind, Name: c.Mark(), Variant: extensionGroup(n)}).Done()
}

// discover asks whether a group is among all, in both forms, and notes a wrong answer.
func discover(c *stage.Client, group string, want bool) {
	for _, form := range []string{"application/json", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"} {
		code, text, err := c.Accept(form, "/apis")
		var all struct {
			Groups []struct{ Name string }
			Items  []struct{ Metadata struct{ Name string } }
		}
		if err != nil || code == http.StatusServiceUnavailable {
			continue // the server is away
		}
		err, found := json.Unmarshal(text, &all), false
		for _, g := range all.Groups {
			found = found || g.Name == group
		}
		for _, i := range all.Items {
			found = found || i.Metadata.Name == group
		}
		if code != http.StatusOK || err != nil || found != want {
			c.Probe("discovered", "/apis as %s is answered %d, group %s is among %d: %v, should be %v", form, code, group, len(all.Groups)+len(all.Items), found,
				want)
		}
	}
}

// restExtensions registers one extension server and no other: it is served, and listed.
func restExtensions(_ context.Context, c *stage.Client) {
	fine := "fine"
	for n := range extensionModes {
		extensionModes[n].Store(&fine)
		c.Do(stage.Request{Verb: "delete", Kind: stage.KindOf("apiservices"), Name: "v1." + extensionGroup(n) + promise.ExtensionGroup})
	}
	set(c, stage.KindOf("apiservices"), registration(0, 1))
	if !eventually(func() bool { return getThing(c, 0) }) {
		c.Probe("routed", "extension server 0 is fine and was registered anew, and is not asked after %s", goneLimit)
	}
	for n := range extensionModes {
		discover(c, extensionGroup(n)+promise.ExtensionGroup, n == 0)
	}
	if getThing(c, 1) {
		c.Probe("routed", "extension server 1 is not registered, and is asked")
	}
}
