package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/capstan-dev/capstan/internal/etcdtest"
)

// on is the cluster with another folder of kube-apiserver and another etcd.
func (x *exchange) on(folder, etcd string) *exchange {
	y := *x
	y.reference, y.etcd, y.flags = folder, etcd, slices.Clone(x.flags)
	y.flags[1] = etcd
	return &y
}

// side is a server with an etcd of its own.
func (x *exchange) side(m member) *side {
	return &side{x.t, x, x.client("https://" + m.address), x.etcd}
}

// etcdClient is a client of an etcd.
func etcdClient(t *testing.T, url string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// pairs are all keys below the prefix in an etcd, in the order of their last writes.
func pairs(t *testing.T, url string) []*mvccpb.KeyValue {
	t.Helper()
	r, err := etcdClient(t, url).Get(t.Context(), "/registry/", clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortAscend))
	if err != nil {
		t.Fatal(err)
	}
	return r.Kvs
}

// copyOf is a new etcd with keys.
func copyOf(t *testing.T, all []*mvccpb.KeyValue) string {
	t.Helper()
	url := etcdtest.Start(t)
	c := etcdClient(t, url)
	for _, kv := range all {
		if _, err := c.Put(t.Context(), string(kv.Key), string(kv.Value)); err != nil {
			t.Fatal(err)
		}
	}
	return url
}

// objectsOf are the names of the objects of a resource, by its id.
type objectsOf map[string][]objectName

type objectName struct{ namespace, name string }

// objects lists everything.
func (s *side) objects() objectsOf {
	all := objectsOf{}
	for _, k := range s.kinds(true) {
		items, _ := s.ask("GET", k.at("", ""), "", nil).body["items"].([]any)
		for _, item := range items {
			meta, _ := item.(map[string]any)["metadata"].(map[string]any)
			namespace, _ := meta["namespace"].(string)
			name, _ := meta["name"].(string)
			all[k.id] = append(all[k.id], objectName{namespace, name})
		}
	}
	return all
}

// allocate makes services until the range of addresses is full. No address or port is given twice, and
// none is lost.
func (s *side) allocate() {
	s.t.Helper()
	path := "/api/v1/namespaces/" + laterSpace + "/services"
	for i := 0; ; i++ {
		text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Service","metadata":{"name":"more-%d"},"spec":{"type":"NodePort","ports":[{"port":80}]}}`, i)
		if a := s.ask("POST", path, "application/json", []byte(text)); a.code != 201 {
			s.t.Logf("%d services more are made, then: %v", i, a.body["message"])
			break
		}
	}
	owners := map[any]string{}
	take := func(what any, owner string) {
		if other := owners[what]; other != "" {
			s.t.Errorf("%v is given to %s and %s", what, other, owner)
		}
		owners[what] = owner
	}
	addresses := 0
	items, _ := s.ask("GET", "/api/v1/services", "", nil).body["items"].([]any)
	for _, item := range items {
		service := item.(map[string]any)
		name, spec := fmt.Sprint(service["metadata"].(map[string]any)["name"]), service["spec"].(map[string]any)
		if address := spec["clusterIP"]; address != nil && address != "None" {
			take(address, name)
			addresses++
		}
		ports, _ := spec["ports"].([]any)
		for _, port := range ports {
			if number := port.(map[string]any)["nodePort"]; number != nil {
				take(number, name)
			}
		}
	}
	if addresses != 254 {
		s.t.Errorf("%d services have addresses, of a range with 254", addresses)
	}
}

// outdateRanges puts the allocations of a new cluster of 1.25 into etcd, which a later release does not keep any more:
// it has an object for each address.
func (x *exchange) outdateRanges() {
	x.t.Helper()
	before := x.on(x.reference, etcdtest.Start(x.t))
	before.startReference("before").stop()
	c := etcdClient(x.t, x.etcd)
	ranges := 0
	for _, kv := range pairs(x.t, before.etcd) {
		if !strings.HasPrefix(string(kv.Key), "/registry/ranges/") {
			continue
		}
		if _, err := c.Put(x.t.Context(), string(kv.Key), string(kv.Value)); err != nil {
			x.t.Fatal(err)
		}
		ranges++
	}
	if ranges != 2 {
		x.t.Fatalf("%d allocations, want those of addresses and of ports", ranges)
	}
}

// TestLaterRelease: this server goes on with the etcd of a later kube-apiserver, whose folder
// CAPSTAN_LATER names, as kube-apiserver 1.25 would. Both get a copy of its etcd. They serve the same
// objects, and after an update of each object as it is both etcds have the same values.
func TestLaterRelease(t *testing.T) {
	folder := os.Getenv("CAPSTAN_LATER")
	if folder == "" {
		t.Skip("CAPSTAN_LATER does not name the folder of a later kube-apiserver; tools/differ/reference/build.sh builds one")
	}
	x := newExchange(t)
	encryption := filepath.Join(x.dir, "encryption.yaml")
	text := `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers: [{secretbox: {keys: [{name: k, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}}, {identity: {}}]
- resources: [configmaps]
  providers: [{aesgcm: {keys: [{name: g, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}]}}, {identity: {}}]
`
	if err := os.WriteFile(encryption, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	x.flags = append(x.flags, "--encryption-provider-config", encryption, "--disable-admission-plugins", "ServiceAccount",
		"--service-cluster-ip-range", "10.0.0.0/24")
	x.outdateRanges()
	writer := x.on(folder, x.etcd)
	writer.flags = append(writer.flags, "--runtime-config", "api/all=true", "--feature-gates", "AllBeta=true")
	m := writer.startReference("later")
	later := writer.side(m)
	later.fill()
	objects := later.objects()
	m.stop()
	state := pairs(t, x.etcd)
	x.ready = "/api/v1/namespaces/default" // readiness waits for objects that cannot be read
	truth := x.on(x.reference, copyOf(t, state))
	want := truth.side(truth.startReference("truth"))
	own := x.on(x.reference, copyOf(t, state))
	own.flags = append(own.flags, "--controllers", "-*")
	got := own.side(own.startCapstan("own"))
	c := &succession{want, got, objects, map[string][]string{}}
	c.settle()
	got.awaitKind("/readyz")
	c.reads()
	c.updates()
	c.values(state)
	got.allocate()
	c.deletions()
	c.report()
}
