package etcdstore_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestRegistrationsOfOtherReleases: a server that starts removes the API services of group versions that
// a server of another release has made for itself, and leaves those alone that appear later.
func TestRegistrationsOfOtherReleases(t *testing.T) {
	const services = "/apis/apiregistration.k8s.io/v1/apiservices"
	registration := func(group string) string {
		return `{"metadata":{"name":"v1.` + group + `","labels":{"kube-aggregator.kubernetes.io/automanaged":"onstart"}},
			"spec":{"group":"` + group + `","version":"v1","groupPriorityMinimum":100,"versionPriority":1}}`
	}
	url := harness.Etcd(t)
	start := func() *harness.Server {
		return harness.Start(t, func(c *server.Config) { harness.OnEtcd(c, url, "/registry") })
	}
	first := start()
	if err := first.Running.LookAfter(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.Post(services, registration("resource.k8s.io")).Expect(t, 201, "")
	if err := first.Running.LookAfter(t.Context()); err != nil {
		t.Fatal(err)
	}
	first.Get(services+"/v1.resource.k8s.io").Expect(t, 200, "")
	second := start()
	if err := second.Running.LookAfter(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.Get(services+"/v1.resource.k8s.io").Expect(t, 404, "")
	second.Get(services+"/v1.apps").Expect(t, 200, "")
}

// TestFieldsOfLaterReleases: a field that only a later release knows stays in etcd until its object is
// written, also as it is.
func TestFieldsOfLaterReleases(t *testing.T) {
	url := harness.Etcd(t)
	s := harness.Start(t, func(c *server.Config) { harness.OnEtcd(c, url, "/registry") })
	const maps, place = "/api/v1/namespaces/default/configmaps", "/registry/configmaps/default/a"
	s.Post(maps, `{"metadata":{"name":"a"},"data":{"k":"v"}}`).Expect(t, 201, "")
	etcd := etcdtest.Client(t, url)
	value := func() []byte {
		t.Helper()
		return valueAt(t, etcd, place)
	}
	known := value()
	// The object has its length before it, and the empty fields of its content type behind it.
	head, rest, _ := bytes.Cut(known, []byte("ConfigMap\x12"))
	size, n := binary.Uvarint(rest)
	object := append(bytes.Clone(rest[n:n+int(size)]), "\xa2\x06\x03new"...) // field 100
	later := binary.AppendUvarint(append(bytes.Clone(head), "ConfigMap\x12"...), uint64(len(object)))
	later = append(append(later, object...), rest[n+int(size):]...)
	if _, err := etcd.Put(t.Context(), place, string(later)); err != nil {
		t.Fatal(err)
	}
	read := s.Get(maps + "/a")
	read.Expect(t, 200, "")
	if got := value(); !bytes.Equal(got, later) {
		t.Errorf("a read changes the value to %q", got)
	}
	s.Send("PUT", maps+"/a", "application/json", read.Body).Expect(t, 200, "")
	if got := value(); !bytes.Equal(got, known) {
		t.Errorf("the value is %q, want %q", got, known)
	}
	again := s.Send("PUT", maps+"/a", "application/json", s.Get(maps+"/a").Body)
	if r, err := etcd.Get(t.Context(), place, clientv3.WithKeysOnly()); err != nil || r.Kvs[0].Version != 3 || again.Code != 200 {
		t.Errorf("a second update as it is writes: %v %v", r, err)
	}
}

// TestPartsOfLaterReleases: an update that would lose what an object needs, since only a later release knows that
// part, is refused as by kube-apiserver 1.25. The state of the object and its end are not.
func TestPartsOfLaterReleases(t *testing.T) {
	url := harness.Etcd(t)
	s := harness.Start(t, func(c *server.Config) { harness.OnEtcd(c, url, "/registry") })
	const pods, place = "/api/v1/namespaces/default/pods", "/registry/pods/default/a"
	s.Post("/api/v1/namespaces/default/serviceaccounts", `{"metadata":{"name":"default"}}`)
	s.Post(pods, `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","env":[{"name":"e","valueFrom":{"configMapKeyRef":{"name":"later","key":"k"}}}],"lifecycle":{"preStop":{"httpGet":{"path":"/slowly","port":80}}}}]}}`).Expect(t, 201, "")
	etcd := etcdtest.Client(t, url)
	value := func() []byte {
		t.Helper()
		return valueAt(t, etcd, place)
	}
	later := value()
	path := bytes.Index(later, []byte("/slowly"))
	later[path-4] = 4<<3 | 2 // the handler's field 4, which 1.25 lacks, has what field 2 had
	name := bytes.Index(later, []byte("\x0a\x05later"))
	later[name-4] = 5<<3 | 2 // and the variable's field 5, what field 3 had
	if _, err := etcd.Put(t.Context(), place, string(later)); err != nil {
		t.Fatal(err)
	}
	read := s.Get(pods + "/a")
	read.Expect(t, 200, "")
	refused := [][]byte{[]byte("lifecycle.preStop: Required value: must specify a handler type"), []byte("env[0].valueFrom: Invalid value")}
	for name, answer := range map[string]harness.Reply{
		"update":      s.Send("PUT", pods+"/a", "application/json", read.Body),
		"merge patch": s.Send("PATCH", pods+"/a", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`)),
	} {
		if answer.Code != 422 || !bytes.Contains(answer.Body, refused[0]) || !bytes.Contains(answer.Body, refused[1]) {
			t.Errorf("%s: %d %s", name, answer.Code, answer.Body)
		}
	}
	if got := value(); !bytes.Equal(got, later) {
		t.Errorf("the value is %q, want %q", got, later)
	}
	s.Send("PATCH", pods+"/a/status", "application/merge-patch+json", []byte(`{"status":{"phase":"Running"}}`)).Expect(t, 200, "")
	s.Send("DELETE", pods+"/a?gracePeriodSeconds=0", "", nil).Expect(t, 200, "")
}

// valueAt are the bytes of a key in etcd.
func valueAt(t *testing.T, etcd *clientv3.Client, place string) []byte {
	t.Helper()
	answer, err := etcd.Get(t.Context(), place)
	if err != nil || len(answer.Kvs) != 1 {
		t.Fatal(answer, err)
	}
	return answer.Kvs[0].Value
}

// TestKindsWithoutTheirOddVersion: a kind that lies in etcd in another version than in the store does so in the
// releases that have this version only.
func TestKindsWithoutTheirOddVersion(t *testing.T) {
	for release, want := range map[string]string{"1.25": "v1beta1", "1.29": "v1beta3", "1.36": "v1"} {
		url := harness.Etcd(t)
		s := harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.EmulatedVersion = []string{release}
		})
		served := "v1"
		if release == "1.25" {
			served = "v1beta2"
		}
		s.Post("/apis/flowcontrol.apiserver.k8s.io/"+served+"/flowschemas", `{"metadata":{"name":"own"},"spec":{"priorityLevelConfiguration":{"name":"global-default"}}}`).
			Expect(t, 201, "")
		value := valueAt(t, etcdtest.Client(t, url), "/registry/flowschemas/own")
		if !bytes.Contains(value, []byte("flowcontrol.apiserver.k8s.io/"+want+"\x12")) {
			t.Errorf("%s: %q", release, value[:60])
		}
	}
}
