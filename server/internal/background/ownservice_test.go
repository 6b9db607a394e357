package background_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const ownEndpoints = "/api/v1/namespaces/default/endpoints/kubernetes"

func TestOwnService(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.ServiceClusterIPRange, c.AdvertiseAddress = "10.7.0.0/16,fd00::/112", "192.0.2.7"
	})
	port := h.Running.URL()[strings.LastIndexByte(h.Running.URL(), ':')+1:]
	service := func() {
		t.Helper()
		r := h.Get(harness.ServicesPath + "/kubernetes")
		r.Expect(t, http.StatusOK, "")
		if got := r.Shape(t); got != "[10.7.0.1] [IPv4] SingleStack [0]" {
			t.Error(got)
		}
		for path, want := range map[string]string{"metadata.labels.component": "apiserver", "metadata.labels.provider": "kubernetes",
			"spec.ports.0.port": "443", "spec.ports.0.targetPort": port, "spec.ports.0.name": "https"} {
			if got := fmt.Sprint(r.Field(t, path)); got != want {
				t.Errorf("%s: %s, expected %s", path, got, want)
			}
		}
		e := h.Get(ownEndpoints)
		e.Expect(t, http.StatusOK, "")
		if a, p := e.Field(t, "subsets.0.addresses.0.ip"), fmt.Sprint(e.Field(t, "subsets.0.ports.0.port")); a != "192.0.2.7" || p != port {
			t.Errorf("endpoints %v:%v", a, p)
		}
		slice := h.Get("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes")
		slice.Expect(t, http.StatusOK, "")
		if a, p := slice.Field(t, "endpoints.0.addresses.0"), fmt.Sprint(slice.Field(t, "ports.0.port")); a != "192.0.2.7" || p != port {
			t.Errorf("endpoint slice %v:%v", a, p)
		}
	}
	lookAfter := func() {
		t.Helper()
		if err := h.Running.LookAfter(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	revision := func() any { return h.Get(harness.ServicesPath).Field(t, "metadata.resourceVersion") }
	service()
	before := revision()
	lookAfter()
	if now := revision(); now != before {
		t.Errorf("looking after what is as it should be writes: %v, %v", before, now)
	}
	h.Merge(harness.ServicesPath+"/kubernetes", `{"spec":{"ports":[{"port":443,"targetPort":1,"name":"x"}]},"metadata":{"labels":{"mine":"1"}}}`).Expect(t, 200, "")
	h.Merge(ownEndpoints, `{"subsets":null,"metadata":{"labels":null}}`).Expect(t, 200, "")
	lookAfter()
	service()
	if got := h.Get(harness.ServicesPath+"/kubernetes").Field(t, "metadata.labels.mine"); got != "1" {
		t.Errorf("a label that somebody set is %v", got)
	}
	h.Send("DELETE", harness.ServicesPath+"/kubernetes", "", nil).Expect(t, 200, "")
	h.Get(ownEndpoints).Expect(t, 404, "NotFound") // went along
	h.Send("DELETE", "/api/v1/namespaces/kube-node-lease", "", nil).Expect(t, 200, "")
	h.Send("PUT", "/api/v1/namespaces/kube-node-lease/finalize", "application/json", []byte(`{"metadata":{"name":"kube-node-lease"},"spec":{"finalizers":[]}}`)).Expect(t, 200, "")
	h.Get("/api/v1/namespaces/kube-node-lease").Expect(t, 404, "NotFound")
	lookAfter()
	service()
	h.Get("/api/v1/namespaces/kube-node-lease").Expect(t, 200, "")
}

// The server's address was taken by another service while it ran with another range.
func TestOwnServiceStaysAfterTheRangeChanged(t *testing.T) {
	dir := t.TempDir()
	config := func(cidr string) func(*server.Config) {
		return func(c *server.Config) { c.InMemory, c.DataDir, c.ServiceClusterIPRange = false, dir, cidr }
	}
	h := harness.Start(t, config("10.0.0.0/24"))
	h.Post(harness.ServicesPath, harness.Service("a", `"clusterIP":"10.0.0.129"`)).Expect(t, 201, "")
	if err := h.Running.Shutdown(context.Background()); err != nil {
		t.Fatal(err)
	}
	h = harness.Start(t, config("10.0.0.128/25"))
	if got := h.Get(harness.ServicesPath+"/kubernetes").Field(t, "spec.clusterIP"); got != "10.0.0.1" {
		t.Errorf("the service was moved to %v", got)
	}
	if got := h.Get(harness.ServicesPath+"/a").Field(t, "spec.clusterIP"); got != "10.0.0.129" {
		t.Errorf("another service was moved to %v", got)
	}
}
