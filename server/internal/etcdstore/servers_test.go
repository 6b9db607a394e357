package etcdstore_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

func TestMain(m *testing.M) { os.Exit(etcdtest.Run(m)) }

// servers starts servers on one etcd.
func servers(t *testing.T, n int, change func(*server.Config)) (all []*harness.Server) {
	t.Helper()
	url := harness.Etcd(t)
	for range n {
		all = append(all, harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			if change != nil {
				change(c)
			}
		}))
	}
	return all
}

// TestReadsOfOtherServers: an object that one server has written is read, listed and selected by the
// other one at once.
func TestReadsOfOtherServers(t *testing.T) {
	all := servers(t, 2, nil)
	const path = "/api/v1/namespaces/default/configmaps"
	for i := range 50 {
		writer, reader := all[i%2], all[(i+1)%2]
		name := fmt.Sprint("c", i)
		writer.Post(path, fmt.Sprintf(`{"metadata":{"name":%q,"labels":{"n":"%d"}}}`, name, i)).Expect(t, 201, "")
		reader.Get(path+"/"+name).Expect(t, 200, "")
		for query, want := range map[string]int{"": i + 1, fmt.Sprintf("?labelSelector=n%%3D%d", i): 1} {
			list := reader.Get(path + query)
			if items, _ := list.Field(t, "items").([]any); len(items) < want {
				t.Fatalf("%s%s has %d objects after the write of %d", path, query, len(items), want)
			}
		}
		if old := reader.Get(path + "/" + name + "?resourceVersion=0"); old.Code != 200 { // it was there already
			t.Errorf("any state: %d", old.Code)
		}
	}
}

// TestWritesAtOnce: of creations of one name exactly one is made, of updates of one version too, and
// quotas are not overdrawn, whichever server they are sent to.
func TestWritesAtOnce(t *testing.T) {
	all := servers(t, 3, nil)
	quota := `{"metadata":{"name":"few"},"spec":{"hard":{"count/configmaps":"10"}}}`
	all[0].Post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).Expect(t, 201, "")
	all[0].Post("/api/v1/namespaces/shop/resourcequotas", quota).Expect(t, 201, "")
	all[0].Send("PUT", "/api/v1/namespaces/shop/resourcequotas/few/status", "application/json",
		[]byte(`{"metadata":{"name":"few"},"spec":{"hard":{"count/configmaps":"10"}},"status":{"hard":{"count/configmaps":"10"},"used":{"count/configmaps":"0"}}}`)).Expect(t, 200, "")
	var mu sync.Mutex
	made, answers := map[string]int{}, map[int]int{}
	var writing sync.WaitGroup
	for i := range 60 {
		writing.Go(func() {
			name := fmt.Sprint("c", i%20)
			r := all[i%3].Post("/api/v1/namespaces/shop/configmaps", fmt.Sprintf(`{"metadata":{"name":%q}}`, name))
			mu.Lock()
			defer mu.Unlock()
			if answers[r.Code]++; r.Code == 201 {
				made[name]++
			}
		})
	}
	writing.Wait()
	for name, n := range made {
		if n > 1 {
			t.Errorf("%s was created %d times", name, n)
		}
	}
	list, _ := all[1].Get("/api/v1/namespaces/shop/configmaps").Field(t, "items").([]any)
	used := all[2].Get("/api/v1/namespaces/shop/resourcequotas/few").Field(t, "status.used")
	if len(list) != 10 || len(made) != 10 || fmt.Sprint(used) != "map[count/configmaps:10]" {
		t.Errorf("%d objects of %d creations, answers %v, the quota has %v", len(list), len(made), answers, used)
	}
}

// TestDefinitionsOfOtherServers: a custom resource that is defined through one server is served by
// the other one, with the objects of both.
func TestDefinitionsOfOtherServers(t *testing.T) {
	all := servers(t, 2, nil)
	definition := `{"metadata":{"name":"shoes.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"plural":"shoes","singular":"shoe","kind":"Shoe","listKind":"ShoeList"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"size":{"type":"integer","default":DEFAULT}}}}}}}]}}`
	all[0].Post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", strings.ReplaceAll(definition, "DEFAULT", "40")).Expect(t, 201, "")
	const path = "/apis/example.com/v1/namespaces/default/shoes"
	for i, s := range all {
		s.AwaitCode(path, 200)
		s.Post(path, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"Shoe","metadata":{"name":"s%d"},"spec":{}}`, i)).Expect(t, 201, "")
	}
	for _, s := range all {
		for i := range all {
			if size := s.Get(fmt.Sprintf("%s/s%d", path, i)).Field(t, "spec.size"); size != 40.0 {
				t.Errorf("the size of s%d is %v", i, size)
			}
		}
	}
	all[1].Send("PATCH", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/shoes.example.com", "application/json-patch+json",
		[]byte(`[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/color","value":{"type":"string","default":"black"}}]`)).Expect(t, 200, "")
	for _, s := range all {
		s.AwaitText(path+"/s0", `"color":"black"`)
	}
	for i := range 20 {
		all[i%2].Send("PATCH", path+"/s0", "application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"size":%d}}`, 41+i)).Expect(t, 200, "")
	}
}

// TestRegistrationsOfOtherServers: a path whose extension server was registered through one server leads
// there on the other one at once, and no longer when the registration is gone.
func TestRegistrationsOfOtherServers(t *testing.T) {
	all := servers(t, 2, nil)
	const services = "/apis/apiregistration.k8s.io/v1/apiservices"
	for i := range 10 {
		by, other := all[i%2], all[(i+1)%2]
		group := fmt.Sprintf("g%d.extension.test", i)
		by.Post(services, fmt.Sprintf(`{"metadata":{"name":"v1.%[1]s"},"spec":{"group":%[1]q,"version":"v1","groupPriorityMinimum":100,"versionPriority":1,
			"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"none"}}}`, group)).Expect(t, 201, "")
		other.Get("/apis/"+group+"/v1/things").Expect(t, 503, "") // nothing is behind it
		by.Send("DELETE", services+"/v1."+group, "", nil).Expect(t, 200, "")
		other.Get("/apis/"+group+"/v1/things").Expect(t, 404, "")
	}
}

// TestOwnService: the endpoints of the cluster's own service have the addresses of all servers that
// live, and the controllers run on one of them at a time.
func TestOwnService(t *testing.T) {
	url := harness.Etcd(t)
	start := func(address string) *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.AdvertiseAddress, c.Controllers = address, nil
			c.Seams.Durations = seams.Production
			c.Seams.Durations.OwnService = 300 * time.Millisecond
		})
	}
	const endpoints = "/api/v1/namespaces/default/endpoints/kubernetes"
	first, second := start("192.0.2.1"), start("192.0.2.2")
	for _, s := range []*harness.Server{first, second} {
		s.AwaitText(endpoints, `"addresses":[{"ip":"192.0.2.1"},{"ip":"192.0.2.2"}]`)
	}
	if err := first.Running.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.AwaitText(endpoints, `"addresses":[{"ip":"192.0.2.2"}]`)
	second.Post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).Expect(t, 201, "")
	second.AwaitCode("/api/v1/namespaces/shop/serviceaccounts/default", 200) // by its controllers
}

// TestStartsAtOnce: servers that start together on an empty etcd make the objects of every cluster together, and none
// of them reports that another one was quicker.
func TestStartsAtOnce(t *testing.T) {
	url := harness.Etcd(t)
	for round := range 3 {
		log := messages{all: map[string]int{}}
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				c := server.Config{}
				harness.OnEtcd(&c, url, fmt.Sprint("/round", round))
				c.CertDir, c.AdvertiseAddress = t.TempDir(), "192.0.2.1"
				c.Logger = slog.New(slog.NewJSONHandler(&log, nil))
				s, err := harness.Launch(t.Context(), c)
				if err != nil {
					t.Error(err)
					return
				}
				t.Cleanup(func() { _ = s.Shutdown(context.Background()) })
				<-s.Controllers.Bootstrapped()
			})
		}
		all.Wait()
		if n := log.all["objects that every cluster has could not be written; trying again"]; n > 0 {
			t.Fatalf("round %d: %d failures: %v", round, n, log.all)
		}
	}
}

// TestOwnPorts: servers with different ports do not correct each other: the one that was started last has its
// port in the cluster's own service, and what they do regularly writes nothing.
func TestOwnPorts(t *testing.T) {
	url := harness.Etcd(t)
	start := func() *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.AdvertiseAddress = "192.0.2.1"
		})
	}
	paths := []string{"/api/v1/namespaces/default/services/kubernetes", "/api/v1/namespaces/default/endpoints/kubernetes",
		"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"}
	lookAfter := func(s *harness.Server) {
		t.Helper()
		if err := s.Running.LookAfter(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first := start()
	lookAfter(first)
	second := start()
	_, port, _ := strings.Cut(strings.TrimPrefix(second.Running.URL(), "https://"), ":")
	lookAfter(second)
	var before []any
	for _, path := range paths {
		r := second.Get(path)
		if !strings.Contains(string(r.Body), `ort":`+port) {
			t.Errorf("%s has not the port %s of the server that was started last: %s", path, port, r.Body)
		}
		before = append(before, r.Field(t, "metadata.resourceVersion"))
	}
	for range 2 {
		lookAfter(first)
		lookAfter(second)
	}
	for i, path := range paths {
		if after := first.Get(path).Field(t, "metadata.resourceVersion"); after != before[i] {
			t.Errorf("%s was written at %v, and again at %v", path, before[i], after)
		}
	}
	// Addresses are corrected at all times, with the port that is there.
	first.Merge(paths[1], `{"subsets":[{"addresses":[{"ip":"192.0.2.9"}],"ports":[{"name":"https","port":`+port+`}]}]}`).Expect(t, 200, "")
	lookAfter(first)
	if r := first.Get(paths[1]); !strings.Contains(string(r.Body), "192.0.2.1") || !strings.Contains(string(r.Body), port) {
		t.Errorf("the endpoints are %s", r.Body)
	}
}

// TestRightsAreTakenAway: a right that one server has taken away does not count at the other ones in
// requests that begin later, and one that was given counts.
func TestRightsAreTakenAway(t *testing.T) {
	all := servers(t, 2, nil)
	all[0].Post("/apis/rbac.authorization.k8s.io/v1/clusterroles", `{"metadata":{"name":"reader"},"rules":[{"apiGroups":[""],"resources":["configmaps"],"verbs":["list"]}]}`).Expect(t, 201, "")
	const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
	for i := range 30 {
		giver, other := all[i%2], all[(i+1)%2]
		giver.Post(bindings, `{"metadata":{"name":"bob"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"reader"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"bob"}]}`).Expect(t, 201, "")
		const read = "/api/v1/configmaps?resourceVersion=0"
		other.Send("GET", read, "", nil, "Authorization", "Bearer bob-token").Expect(t, 200, "")
		giver.Send("DELETE", bindings+"/bob", "", nil).Expect(t, 200, "")
		other.Send("GET", read, "", nil, "Authorization", "Bearer bob-token").Expect(t, 403, "Forbidden")
	}
}

// TestFigures: the requests to etcd are counted, by operation and resource, and so are the objects in
// it; the size of its database is shown. A server that is asked not to shows neither of the latter.
func TestFigures(t *testing.T) {
	url := harness.Etcd(t)
	start := func(often time.Duration) *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.EtcdCountPeriod, c.EtcdSizeInterval = often, often
		})
	}
	s, silent := start(0), start(-1)
	const path = "/api/v1/namespaces/default/configmaps"
	s.Post(path, `{"metadata":{"name":"a"}}`).Expect(t, 201, "")
	s.Send("DELETE", path+"/a", "", nil).Expect(t, 200, "")
	s.Post(path, `{"metadata":{"name":"b"}}`).Expect(t, 201, "")
	for _, want := range []string{`etcd_request_duration_seconds_count{operation="create",type="core/configmaps"}`, `{operation="delete",type="core/configmaps"} 1`,
		`etcd_request_duration_seconds_count{operation="get",type=""}`, `apiserver_storage_objects{resource="configmaps"} 2`, // one is the server's
		`etcd_db_total_size_in_bytes{endpoint="` + url + `"} `} {
		s.AwaitText("/metrics", want)
	}
	for figure := range silent.Figures() {
		if strings.HasPrefix(figure, "apiserver_storage_objects") || strings.HasPrefix(figure, "etcd_db") {
			t.Errorf("%s, which nobody wants", figure)
		}
	}
}

// TestWatchOfSharedRevision: a write that is charged to two quotas changes both at one revision. A
// watch of quotas that resumes at that revision shows both: its client may have got one only.
func TestWatchOfSharedRevision(t *testing.T) {
	s := servers(t, 1, nil)[0]
	const quotas = "/api/v1/namespaces/default/resourcequotas"
	for _, name := range []string{"one", "two"} {
		s.Post(quotas, fmt.Sprintf(`{"metadata":{"name":%q},"spec":{"hard":{"count/configmaps":"9"}}}`, name)).Expect(t, 201, "")
		s.Send("PUT", quotas+"/"+name+"/status", "application/json", fmt.Appendf(nil,
			`{"metadata":{"name":%q},"spec":{"hard":{"count/configmaps":"9"}},"status":{"hard":{"count/configmaps":"9"},"used":{"count/configmaps":"0"}}}`, name)).Expect(t, 200, "")
	}
	s.Post("/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"a"}}`).Expect(t, 201, "")
	one, two := s.Get(quotas+"/one").Field(t, "metadata.resourceVersion"), s.Get(quotas+"/two").Field(t, "metadata.resourceVersion")
	if one != two {
		t.Fatalf("the quotas are at %v and %v", one, two)
	}
	watch := s.Watch(fmt.Sprintf("%s?watch=1&resourceVersion=%v", quotas, one))
	watch.Expect("MODIFIED one", "MODIFIED two")
}

// TestMediaTypes: servers that write objects in different forms read each other's, and an update of an
// object, also as it is, has the form of the server that makes it.
func TestMediaTypes(t *testing.T) {
	url := harness.Etcd(t)
	etcd := etcdtest.Client(t, url)
	forms := map[string]string{codec.BinaryMedia: "k8s\x00", "application/json": "{", "application/yaml": "apiVersion: v1\n"}
	servers := map[string]*harness.Server{}
	for media := range forms {
		servers[media] = harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.StorageMediaType = media
		})
	}
	check := func(media string) {
		t.Helper()
		for _, place := range []string{"/registry/services/specs/default/a", "/registry/ranges/serviceips"} {
			answer, err := etcd.Get(t.Context(), place)
			if err != nil || len(answer.Kvs) != 1 || !bytes.HasPrefix(answer.Kvs[0].Value, []byte(forms[media])) {
				t.Errorf("%s by the server of %s: %v %v", place, media, answer, err)
			}
		}
	}
	const services = "/api/v1/namespaces/default/services"
	for media, by := range servers {
		by.Post(services, `{"metadata":{"name":"a"},"spec":{"ports":[{"port":80}]}}`).Expect(t, 201, "")
		check(media)
		for other, s := range servers {
			if other == media {
				continue
			}
			object := s.Get(services + "/a")
			s.Send("PUT", services+"/a", "application/json", object.Body).Expect(t, 200, "")
			s.Post(services, `{"metadata":{"name":"b"},"spec":{"ports":[{"port":80}]}}`).Expect(t, 201, "") // writes the range
			s.Send("DELETE", services+"/b", "", nil).Expect(t, 200, "")
			check(other)
		}
		by.Send("DELETE", services+"/a", "", nil).Expect(t, 200, "")
	}
}

// TestKeyGoesOutOfUse: values in etcd are encrypted as the configuration says, and an update of an
// object as it is writes the object with the newest key.
func TestKeyGoesOutOfUse(t *testing.T) {
	url := harness.Etcd(t)
	etcd := etcdtest.Client(t, url)
	start := func(keys string) *harness.Server {
		file := filepath.Join(t.TempDir(), "encryption.yaml")
		text := "{apiVersion: apiserver.config.k8s.io/v1, kind: EncryptionConfiguration, resources: [{resources: [secrets], providers: [{aescbc: {keys: [" + keys + "]}}]}]}"
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.EncryptionConfigFile = file
		})
	}
	writtenWith := func(key string) int64 {
		t.Helper()
		answer, err := etcd.Get(t.Context(), "/registry/secrets/default/a")
		if err != nil || len(answer.Kvs) != 1 || !bytes.HasPrefix(answer.Kvs[0].Value, []byte("k8s:enc:aescbc:v1:"+key+":")) {
			t.Fatalf("%v %v, want the key %s", answer, err, key)
		}
		return answer.Kvs[0].ModRevision
	}
	const old, newer = "{name: old, secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}", "{name: newer, secret: YTEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=}"
	const secrets = "/api/v1/namespaces/default/secrets"
	first := start(old)
	first.Post(secrets, `{"metadata":{"name":"a"},"stringData":{"k":"v"}}`).Expect(t, 201, "")
	before := writtenWith("old")
	second := start(newer + "," + old)
	object := second.Get(secrets + "/a")
	written := second.Send("PUT", secrets+"/a", "application/json", object.Body)
	written.Expect(t, 200, "")
	after := writtenWith("newer")
	if version := written.Field(t, "metadata.resourceVersion"); after == before || version != fmt.Sprint(after) {
		t.Errorf("it is at %d, was at %d, and was answered at %v", after, before, version)
	}
	again := second.Send("PUT", secrets+"/a", "application/json", written.Body)
	if now := writtenWith("newer"); again.Code != 200 || now != after {
		t.Errorf("%d; a second update moves it from %d to %d", again.Code, after, now)
	}
}
