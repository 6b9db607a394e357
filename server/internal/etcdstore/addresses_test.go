package etcdstore_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// TestAddressesAtOnce: no two services get one address or node port, of few, on whichever server.
func TestAddressesAtOnce(t *testing.T) {
	all := servers(t, 3, func(c *server.Config) { c.ServiceClusterIPRange, c.ServiceNodePortRange = "10.9.0.0/27", "30000-30019" })
	var writing sync.WaitGroup
	var mu sync.Mutex
	answers := map[int]int{}
	for i := range 36 { // as many as there are node ports, with losses
		writing.Go(func() {
			r := all[i%3].Post("/api/v1/namespaces/default/services", fmt.Sprintf(`{"metadata":{"name":"s%d"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, i))
			mu.Lock()
			defer mu.Unlock()
			answers[r.Code]++
		})
	}
	writing.Wait()
	seen := map[string]string{}
	list, _ := all[0].Get("/api/v1/namespaces/default/services").Field(t, "items").([]any)
	for _, item := range list {
		spec := item.(map[string]any)["spec"].(map[string]any)
		name := item.(map[string]any)["metadata"].(map[string]any)["name"].(string)
		for _, taken := range []string{fmt.Sprint(spec["clusterIP"]), fmt.Sprint(spec["ports"].([]any)[0].(map[string]any)["nodePort"])} {
			if other := seen[taken]; other != "" && taken != "<nil>" {
				t.Errorf("%s and %s have %s", other, name, taken)
			}
			seen[taken] = name
		}
	}
	if answers[201] != 20 {
		t.Errorf("%d services for 20 node ports, answers %v", answers[201], answers)
	}
	for i := range 36 { // freed with their services
		all[(i+1)%3].Send("DELETE", fmt.Sprintf("/api/v1/namespaces/default/services/s%d", i), "", nil)
	}
	for i := range 20 {
		all[i%3].Post("/api/v1/namespaces/default/services", fmt.Sprintf(`{"metadata":{"name":"t%d"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, i)).Expect(t, 201, "")
	}
}

// TestNamedAddressesAtOnce: of a release in which addresses have objects, no two services get one address of few, on
// whichever server; the objects are those of the services, and so are the allocations of a release that has them too.
func TestNamedAddressesAtOnce(t *testing.T) {
	const addresses = "/apis/networking.k8s.io/v1/ipaddresses"
	for _, version := range []string{"1.33", "1.36"} {
		all := servers(t, 3, func(c *server.Config) {
			c.EmulatedVersion, c.ServiceClusterIPRange = []string{version}, "10.9.0.0/28"
		})
		for _, s := range all {
			if err := s.Running.LookAfter(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		all[0].Post("/apis/networking.k8s.io/v1/servicecidrs", `{"metadata":{"name":"more"},"spec":{"cidrs":["10.9.1.0/29"]}}`).Expect(t, 201, "")
		const services, free = "/api/v1/namespaces/default/services", 14 + 6 - 1
		var writing sync.WaitGroup
		var mu sync.Mutex
		answers := map[int]int{}
		for i := range 2 * free {
			writing.Go(func() {
				spec := ""
				if i%5 == 0 {
					spec = `"clusterIP":"10.9.1.3",`
				}
				r := all[i%3].Post(services, fmt.Sprintf(`{"metadata":{"name":"s%d"},"spec":{%s"ports":[{"port":80}]}}`, i, spec))
				mu.Lock()
				defer mu.Unlock()
				answers[r.Code]++
			})
		}
		writing.Wait()
		for i := 0; answers[500] == 0 && i < free; i++ {
			answers[all[i%3].Post(services, fmt.Sprintf(`{"metadata":{"name":"t%d"},"spec":{"ports":[{"port":80}]}}`, i)).Code]++
		}
		if answers[201] != free {
			t.Errorf("%s: %d services for %d addresses, answers %v", version, answers[201], free, answers)
		}
		owners := map[string]string{}
		list, _ := all[0].Get(addresses).Field(t, "items").([]any)
		for _, item := range list {
			object := item.(map[string]any)
			owners[object["metadata"].(map[string]any)["name"].(string)] = object["spec"].(map[string]any)["parentRef"].(map[string]any)["name"].(string)
		}
		list, _ = all[1].Get(services).Field(t, "items").([]any)
		for _, item := range list {
			object := item.(map[string]any)
			name, ip := object["metadata"].(map[string]any)["name"].(string), object["spec"].(map[string]any)["clusterIP"].(string)
			if owners[ip] != name {
				t.Errorf("%s: %s has %s, which is of %q", version, name, ip, owners[ip])
			}
			delete(owners, ip)
			all[len(name)%3].Send("DELETE", services+"/"+name, "", nil).Expect(t, 200, "")
		}
		list, _ = all[2].Get(addresses).Field(t, "items").([]any)
		if len(owners) != 0 || len(list) != 0 {
			t.Errorf("%s: objects of addresses without services: %v %v", version, owners, list)
		}
	}
}
