package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

const ownEndpoints = "/api/v1/namespaces/default/endpoints/kubernetes"

func TestOwnService(t *testing.T) {
	h := startServer(t, func(c *server.Config) {
		c.ServiceClusterIPRange, c.AdvertiseAddress = "10.7.0.0/16,fd00::/112", "192.0.2.7"
	})
	port := h.server.URL()[strings.LastIndexByte(h.server.URL(), ':')+1:]
	service := func() {
		t.Helper()
		r := h.get(servicesPath + "/kubernetes")
		r.expect(t, http.StatusOK, "")
		if got := r.shape(t); got != "[10.7.0.1] [IPv4] SingleStack [0]" {
			t.Error(got)
		}
		for path, want := range map[string]string{"metadata.labels.component": "apiserver", "metadata.labels.provider": "kubernetes",
			"spec.ports.0.port": "443", "spec.ports.0.targetPort": port, "spec.ports.0.name": "https"} {
			if got := fmt.Sprint(r.field(t, path)); got != want {
				t.Errorf("%s: %s, expected %s", path, got, want)
			}
		}
		e := h.get(ownEndpoints)
		e.expect(t, http.StatusOK, "")
		if a, p := e.field(t, "subsets.0.addresses.0.ip"), fmt.Sprint(e.field(t, "subsets.0.ports.0.port")); a != "192.0.2.7" || p != port {
			t.Errorf("endpoints %v:%v", a, p)
		}
		slice := h.get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
		slice.expect(t, http.StatusOK, "")
		if a, p := slice.field(t, "endpoints.0.addresses.0"), fmt.Sprint(slice.field(t, "ports.0.port")); a != "192.0.2.7" || p != port {
			t.Errorf("endpoint slice %v:%v", a, p)
		}
	}
	lookAfter := func() {
		t.Helper()
		if err := h.server.LookAfter(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	revision := func() any { return h.get(servicesPath).field(t, "metadata.resourceVersion") }
	service()
	before := revision()
	lookAfter()
	if now := revision(); now != before {
		t.Errorf("looking after what is as it should be writes: %v, %v", before, now)
	}
	h.merge(servicesPath+"/kubernetes", `{"spec":{"ports":[{"port":443,"targetPort":1,"name":"x"}]},"metadata":{"labels":{"mine":"1"}}}`).expect(t, 200, "")
	h.merge(ownEndpoints, `{"subsets":null,"metadata":{"labels":null}}`).expect(t, 200, "")
	lookAfter()
	service()
	if got := h.get(servicesPath+"/kubernetes").field(t, "metadata.labels.mine"); got != "1" {
		t.Errorf("a label that somebody set is %v", got)
	}
	h.send("DELETE", servicesPath+"/kubernetes", "", nil).expect(t, 200, "")
	h.get(ownEndpoints).expect(t, 404, "NotFound") // went along
	h.send("DELETE", "/api/v1/namespaces/kube-node-lease", "", nil).expect(t, 200, "")
	h.send("PUT", "/api/v1/namespaces/kube-node-lease/finalize", "application/json", []byte(`{"metadata":{"name":"kube-node-lease"},"spec":{"finalizers":[]}}`)).expect(t, 200, "")
	h.get("/api/v1/namespaces/kube-node-lease").expect(t, 404, "NotFound")
	lookAfter()
	service()
	h.get("/api/v1/namespaces/kube-node-lease").expect(t, 200, "")
}

// The server's address was taken by another service while it ran with another range.
func TestOwnServiceStaysAfterTheRangeChanged(t *testing.T) {
	dir := t.TempDir()
	config := func(cidr string) func(*server.Config) {
		return func(c *server.Config) { c.InMemory, c.DataDir, c.ServiceClusterIPRange = false, dir, cidr }
	}
	h := startServer(t, config("10.0.0.0/24"))
	h.post(servicesPath, service("a", `"clusterIP":"10.0.0.129"`)).expect(t, 201, "")
	if err := h.server.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	h = startServer(t, config("10.0.0.128/25"))
	if got := h.get(servicesPath+"/kubernetes").field(t, "spec.clusterIP"); got != "10.0.0.1" {
		t.Errorf("the service was moved to %v", got)
	}
	if got := h.get(servicesPath+"/a").field(t, "spec.clusterIP"); got != "10.0.0.129" {
		t.Errorf("another service was moved to %v", got)
	}
}
