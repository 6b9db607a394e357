package kinds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

const (
	rangesPath    = "/apis/networking.k8s.io/v1/servicecidrs"
	addressesPath = "/apis/networking.k8s.io/v1/ipaddresses"
)

// release starts a server of a release, with ranges.
func release(t *testing.T, version, ranges string, change func(*server.Config)) *harness.Server {
	return harness.Start(t, func(c *server.Config) {
		c.EmulatedVersion, c.ServiceClusterIPRange = []string{version}, ranges
		if change != nil {
			change(c)
		}
	})
}

// owners are the services of all addresses, by the addresses' objects.
func owners(t *testing.T, h *harness.Server) map[string]string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Name   string
				Labels map[string]string
			}
			Spec struct {
				ParentRef struct{ Group, Resource, Namespace, Name string }
			}
		}
	}
	if err := json.Unmarshal(h.Get(addressesPath).Body, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, i := range list.Items {
		all[i.Metadata.Name] = i.Spec.ParentRef.Namespace + "/" + i.Spec.ParentRef.Name
		family := "IPv4"
		if strings.Contains(i.Metadata.Name, ":") {
			family = "IPv6"
		}
		want := map[string]string{"ipaddress.kubernetes.io/ip-family": family, "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
		if !maps.Equal(i.Metadata.Labels, want) || i.Spec.ParentRef.Resource != "services" {
			t.Errorf("%s: labels %v of %s", i.Metadata.Name, i.Metadata.Labels, i.Spec.ParentRef.Resource)
		}
	}
	return all
}

// expectOwners compares the objects of addresses with the services.
func expectOwners(t *testing.T, h *harness.Server) map[string]string {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
			Spec     struct{ ClusterIPs []string }
		}
	}
	if err := json.Unmarshal(h.Get("/api/v1/services").Body, &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, s := range list.Items {
		for _, ip := range s.Spec.ClusterIPs {
			if ip == "None" {
				continue
			}
			if other := want[ip]; other != "" {
				t.Errorf("%s is of %s and of %s", ip, other, s.Metadata.Name)
			}
			want[ip] = s.Metadata.Namespace + "/" + s.Metadata.Name
		}
	}
	got := owners(t, h)
	if !maps.Equal(got, want) {
		t.Errorf("objects of addresses %v, services have %v", got, want)
	}
	return got
}

func TestAddressesHaveObjects(t *testing.T) {
	h := release(t, "1.36", "10.1.0.0/24,fd00:1::/112", nil)
	h.AwaitText("/readyz?verbose", "[+]poststarthook/start-kubernetes-service-cidr-controller ok")
	own := h.Get(rangesPath + "/kubernetes")
	own.Expect(t, 200, "")
	if got := fmt.Sprint(own.Field(t, "spec.cidrs")); got != "[10.1.0.0/24 fd00:1::/112]" {
		t.Errorf("ranges %s", got)
	}
	h.AwaitText(addressesPath, `"10.1.0.1"`) // of the server's own service
	both := `"ipFamilyPolicy":"RequireDualStack"`
	h.Post(harness.ServicesPath+"?dryRun=All", harness.Service("a", both)).Expect(t, 201, "")
	if got := expectOwners(t, h); len(got) != 1 {
		t.Errorf("a dry run makes objects: %v", got)
	}
	h.Post(harness.ServicesPath, harness.Service("a", both)).Expect(t, 201, "")
	h.Post(harness.ServicesPath, harness.Service("b", `"clusterIP":"10.1.0.7"`)).Expect(t, 201, "")
	h.Post(harness.ServicesPath, harness.Service("c", `"clusterIP":"None"`)).Expect(t, 201, "")
	if got := expectOwners(t, h); len(got) != 4 || got["10.1.0.7"] != "default/b" {
		t.Errorf("objects of addresses %v", got)
	}
	object := string(h.Get(addressesPath + "/10.1.0.7").Body)
	if !strings.Contains(object, `"manager":"kube-apiserver","operation":"Update","apiVersion":"networking.k8s.io/v1"`) {
		t.Errorf("the object is not the server's: %s", object)
	}
	for ip, words := range map[string]string{
		"10.1.0.7":   "failed to allocate IP 10.1.0.7: provided IP is already allocated",
		"10.2.0.9":   "failed to allocate IP 10.2.0.9: the provided network does not match the current range",
		"10.1.0.0":   "failed to allocate IP 10.1.0.0: the provided network does not match the current range",
		"10.1.0.255": "failed to allocate IP 10.1.0.255: the provided network does not match the current range",
	} {
		r := h.Post(harness.ServicesPath, harness.Service("d", `"clusterIP":"`+ip+`"`))
		r.Expect(t, 422, "Invalid")
		if message, _ := r.Field(t, "message").(string); !strings.HasSuffix(message, words) {
			t.Errorf("%s: %s", ip, message)
		}
	}
	h.Post(harness.ServicesPath+"?dryRun=All", harness.Service("d", `"clusterIP":"10.2.0.9"`)).Expect(t, 422, "Invalid")
	// An address that somebody else has is not free.
	h.Post(addressesPath, `{"metadata":{"name":"10.1.0.9"},"spec":{"parentRef":{"group":"gateway.networking.k8s.io","resource":"gateways","name":"g"}}}`).Expect(t, 201, "")
	h.Post(harness.ServicesPath, harness.Service("d", `"clusterIP":"10.1.0.9"`)).Expect(t, 422, "Invalid")
	h.Send("DELETE", addressesPath+"/10.1.0.9", "", nil).Expect(t, 200, "")
	h.Post(harness.ServicesPath, harness.Service("d", `"clusterIP":"10.1.0.9"`)).Expect(t, 201, "")
	// Addresses go with what a service gives up.
	h.Merge(harness.ServicesPath+"/a", `{"spec":{"ipFamilyPolicy":"SingleStack"}}`).Expect(t, 200, "")
	h.Merge(harness.ServicesPath+"/b", `{"spec":{"type":"ExternalName","externalName":"x.y","clusterIP":null,"clusterIPs":null}}`).Expect(t, 200, "")
	if got := expectOwners(t, h); len(got) != 3 {
		t.Errorf("objects of addresses %v", got)
	}
	h.Merge(harness.ServicesPath+"/b", `{"spec":{"type":"ClusterIP","externalName":null}}`).Expect(t, 200, "")
	h.Merge(harness.ServicesPath+"/d", `{"metadata":{"finalizers":["x.y/z"]}}`).Expect(t, 200, "")
	h.Send("DELETE", harness.ServicesPath+"/d", "", nil).Expect(t, 200, "")
	if got := expectOwners(t, h); len(got) != 4 {
		t.Errorf("objects of addresses %v", got)
	}
	h.Merge(harness.ServicesPath+"/d", `{"metadata":{"finalizers":null}}`).Expect(t, 200, "")
	h.Send("DELETE", harness.ServicesPath, "", nil).Expect(t, 200, "")
	if got := owners(t, h); len(got) != 0 {
		t.Errorf("objects of addresses without services: %v", got)
	}
	// A range of which an operator says that it is not ready gives no addresses.
	h.Post(rangesPath, `{"metadata":{"name":"closed"},"spec":{"cidrs":["10.3.0.0/24"]}}`).Expect(t, 201, "")
	h.Merge(rangesPath+"/closed/status", `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Closed","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`).
		Expect(t, 200, "")
	h.Post(harness.ServicesPath, harness.Service("e", `"clusterIP":"10.3.0.4"`)).Expect(t, 422, "Invalid")
	h.Merge(rangesPath+"/closed/status", `{"status":{"conditions":null}}`).Expect(t, 200, "")
	h.Post(harness.ServicesPath, harness.Service("e", `"clusterIP":"10.3.0.4"`)).Expect(t, 201, "")
}

// Of the releases and gates without, addresses have no objects; with dual writes the configured range is used first.
func TestReleasesOfAddresses(t *testing.T) {
	for _, c := range []struct {
		version, gates, api string
		named               bool
	}{
		{"1.31", "MultiCIDRServiceAllocator=true", "v1beta1", true},
		{"1.31", "", "v1beta1", false},
		{"1.33", "", "v1", true},
		{"1.33", "DisableAllocatorDualWrite=true", "v1", true},
	} {
		h := release(t, c.version, "10.1.0.0/24", func(s *server.Config) {
			s.RuntimeConfig = []string{"networking.k8s.io/v1beta1=true"}
			if c.gates != "" {
				s.FeatureGates = []string{c.gates}
			}
		})
		group := "/apis/networking.k8s.io/" + c.api
		h.Post(group+"/servicecidrs", `{"metadata":{"name":"more"},"spec":{"cidrs":["10.7.0.0/16"]}}`).Expect(t, 201, "")
		for i := range 20 {
			r := h.Post(harness.ServicesPath, harness.Service(fmt.Sprint("s", i), ""))
			r.Expect(t, 201, "")
			ip, _ := r.Field(t, "spec.clusterIP").(string)
			if !strings.HasPrefix(ip, "10.1.0.") && c.gates != "DisableAllocatorDualWrite=true" {
				t.Errorf("%s %s: address %s", c.version, c.gates, ip)
			}
			code := 404
			if c.named {
				code = 200
			}
			h.Get(group+"/ipaddresses/"+ip).Expect(t, code, "")
		}
	}
}

// TestRangesOfServices: addresses come from each range that is ready, and a deleted range stays until no address is
// in it alone.
func TestRangesOfServices(t *testing.T) {
	h := release(t, "1.36", "10.1.0.0/29", func(c *server.Config) {
		c.Background.Controllers = []string{"service-cidr-controller"}
		harness.Shorten(c, func(d *seams.Durations) { d.Pauses.RangeGrace = time.Millisecond })
	})
	h.AwaitText(rangesPath+"/kubernetes", "service-cidr-finalizer")
	for i := range 5 { // the sixth is the server's own
		h.Post(harness.ServicesPath, harness.Service(fmt.Sprint("a", i), "")).Expect(t, 201, "")
	}
	full := h.Post(harness.ServicesPath, harness.Service("b", ""))
	full.Expect(t, 500, "InternalError")
	if !strings.Contains(string(full.Body), `failed to allocate a serviceIP for Service \"b\": range is full`) {
		t.Errorf("%s", full.Body)
	}
	h.Post(rangesPath, `{"metadata":{"name":"more"},"spec":{"cidrs":["10.2.0.0/30"]}}`).Expect(t, 201, "")
	b := h.Post(harness.ServicesPath, harness.Service("b", ""))
	b.Expect(t, 201, "")
	if ip := b.Field(t, "spec.clusterIP"); ip != "10.2.0.1" && ip != "10.2.0.2" {
		t.Errorf("address %v", ip)
	}
	h.AwaitText(rangesPath+"/more", `"message":"Kubernetes Service CIDR is ready"`)
	h.AwaitText(rangesPath+"/more", `"manager":"service-cidr-controller","operation":"Apply"`)
	h.Send("DELETE", rangesPath+"/more", "", nil).Expect(t, 200, "")
	h.AwaitText(rangesPath+"/more", "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR")
	h.Post(harness.ServicesPath, harness.Service("c", "")).Expect(t, 500, "InternalError") // 10.2.0.1 or .2 is free
	// One that covers it lets it go, and is needed then.
	h.Post(rangesPath, `{"metadata":{"name":"wide"},"spec":{"cidrs":["10.2.0.0/16"]}}`).Expect(t, 201, "")
	h.AwaitCode(rangesPath+"/more", 404)
	h.Post(harness.ServicesPath, harness.Service("c", "")).Expect(t, 201, "")
	h.Send("DELETE", rangesPath+"/wide", "", nil).Expect(t, 200, "")
	h.AwaitText(rangesPath+"/wide", "There are still IPAddresses")
	h.Send("DELETE", harness.ServicesPath+"/b", "", nil).Expect(t, 200, "")
	h.Send("DELETE", harness.ServicesPath+"/c", "", nil).Expect(t, 200, "")
	h.AwaitCode(rangesPath+"/wide", 404)
}

// TestCreatorsOfFewAddresses: of many creators of services as many succeed as there are addresses, in overlapping ranges.
func TestCreatorsOfFewAddresses(t *testing.T) {
	h := release(t, "1.36", "10.1.0.0/28", nil)
	h.AwaitText(addressesPath, `"10.1.0.1"`)
	h.Post(rangesPath, `{"metadata":{"name":"same"},"spec":{"cidrs":["10.1.0.0/27"]}}`).Expect(t, 201, "")
	const free = 30 - 1
	var mu sync.Mutex
	codes := map[int]int{}
	var creating sync.WaitGroup
	for w := range 8 {
		creating.Go(func() {
			for n := range 8 {
				spec := ""
				if n == 0 {
					spec = `"clusterIP":"10.1.0.20"` // which one of them gets
				}
				r := h.Post(harness.ServicesPath, harness.Service(fmt.Sprintf("s%d-%d", w, n), spec))
				mu.Lock()
				codes[r.Code]++
				mu.Unlock()
				if r.Code == 201 && n%2 == 1 {
					h.Send("DELETE", harness.ServicesPath+"/"+fmt.Sprintf("s%d-%d", w, n), "", nil)
				}
			}
		})
	}
	creating.Wait()
	expectOwners(t, h)
	for n := 0; n <= free && h.Post(harness.ServicesPath, harness.Service(fmt.Sprint("more", n), "")).Code == 201; n++ {
	}
	if got := expectOwners(t, h); len(got) != free+1 {
		t.Errorf("%d addresses of %d are in use: %v, answers %v", len(got), free+1, slices.Sorted(maps.Keys(got)), codes)
	}
}

// TestAddressesOfOtherReleases: a store in which services were made without objects of addresses gets them, and what
// 1.25 makes and removes between is found.
func TestAddressesOfOtherReleases(t *testing.T) {
	disk := vfs.NewMem()
	clock := &harness.Clock{Start: time.Now()}
	with := func(version string) *harness.Server {
		h := release(t, version, "10.1.0.0/24", func(c *server.Config) {
			c.InMemory, c.DataDir, c.FS, c.Clock = false, "data", disk, clock.Now
		})
		<-h.Running.Bootstrapped()
		return h
	}
	stop := func(h *harness.Server) {
		t.Helper()
		if err := h.Running.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	old := with("1.25")
	old.Post(harness.ServicesPath, harness.Service("a", "")).Expect(t, 201, "")
	old.Post(harness.ServicesPath, harness.Service("b", "")).Expect(t, 201, "")
	stop(old)
	later := with("1.36")
	if got := expectOwners(t, later); len(got) != 3 {
		t.Errorf("objects of addresses %v", got)
	}
	later.AwaitText("/api/v1/namespaces/default/events", "is not allocated; repairing")
	later.Post(harness.ServicesPath, harness.Service("c", "")).Expect(t, 201, "")
	stop(later)
	old = with("1.25")
	old.Send("DELETE", harness.ServicesPath+"/b", "", nil).Expect(t, 200, "")
	old.Post(harness.ServicesPath, harness.Service("d", "")).Expect(t, 201, "")
	stop(old)
	clock.Pass(2 * time.Minute)
	later = with("1.36")
	if got := expectOwners(t, later); len(got) != 4 {
		t.Errorf("objects of addresses %v", got)
	}
	later.AwaitText("/api/v1/namespaces/default/events", "appears to have leaked: cleaning up")
}
