package etcdstore_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestValuesThatCannotBeRead: foreign and half-written bytes under keys of all sorts of kinds are
// answered 500, each with its key in the log, and can be discarded; everything else is served, by a
// server that runs and by one that starts.
func TestValuesThatCannotBeRead(t *testing.T) {
	url := harness.Etcd(t)
	client := etcdtest.Client(t, url)
	log := &harness.Lines{}
	start := func() *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.Logger = slog.New(slog.NewTextHandler(log, nil))
		})
	}
	running := start()
	const maps = "/api/v1/namespaces/default/configmaps"
	running.Post(maps, `{"metadata":{"name":"half"},"data":{"a":"b"}}`).Expect(t, 201, "")
	running.Post(maps, `{"metadata":{"name":"whole"},"data":{"a":"b"}}`).Expect(t, 201, "")
	whole, err := client.Get(t.Context(), "/registry/configmaps/default/half")
	if err != nil || len(whole.Kvs) != 1 {
		t.Fatal(err, whole)
	}
	half := whole.Kvs[0].Value[:len(whole.Kvs[0].Value)/2]
	broken := map[string]string{
		maps + "/half": "configmaps/default/half",
		"/apis/rbac.authorization.k8s.io/v1/clusterroles/bad":                     "clusterroles/bad",
		"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/bad":              "clusterrolebindings/bad",
		"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bad.example.com": "apiextensions.k8s.io/customresourcedefinitions/bad.example.com",
		"/api/v1/namespaces/bad":                                                    "namespaces/bad",
		"/api/v1/namespaces/default/services/bad":                                   "services/specs/default/bad",
		"/api/v1/namespaces/default/events/bad":                                     "events/default/bad",
		"/api/v1/namespaces/default/pods/bad":                                       "pods/default/bad",
		"/api/v1/nodes/bad":                                                         "minions/bad",
		"/apis/apiregistration.k8s.io/v1/apiservices/v1.bad":                        "apiregistration.k8s.io/apiservices/v1.bad",
		"/apis/scheduling.k8s.io/v1/priorityclasses/bad":                            "priorityclasses/bad",
		"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/bad": "validatingwebhookconfigurations/bad",
		"/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas/bad":                "flowschemas/bad",
	}
	for _, place := range broken {
		value := "hello"
		if strings.HasSuffix(place, "half") {
			value = string(half)
		}
		if _, err := client.Put(t.Context(), "/registry/"+place, value); err != nil {
			t.Fatal(err)
		}
	}
	for name, s := range map[string]*harness.Server{"running": running, "started": start()} {
		for path, place := range broken {
			if got := s.Get(path); got.Code != 500 || !bytes.Contains(got.Body, []byte("cannot be read")) {
				t.Errorf("%s: %s: %d %s", name, path, got.Code, got.Body)
			}
			log.Mu.Lock()
			if !strings.Contains(log.Text.String(), "/registry/"+place) {
				t.Errorf("%s: the log does not name %s", name, place)
			}
			log.Mu.Unlock()
			collection := path[:strings.LastIndexByte(path, '/')]
			s.Get(collection+"?ignoreUnreadable=true").Expect(t, 200, "")
		}
		s.Get("/readyz").Expect(t, 200, "")
		s.Get(maps+"/whole").Expect(t, 200, "")
		s.Post(maps, `{"metadata":{"name":"`+name+`"}}`).Expect(t, 201, "")
		s.Post("/api/v1/namespaces", `{"metadata":{"name":"`+name+`"}}`).Expect(t, 201, "")
		s.Post("/api/v1/namespaces/default/services", `{"metadata":{"name":"`+name+`"},"spec":{"ports":[{"port":1}]}}`).Expect(t, 201, "")
		s.Send("DELETE", "/api/v1/namespaces/"+name, "", nil).Expect(t, 200, "")
	}
	for path := range broken {
		running.Send("DELETE", path+"?ignoreStoreReadErrorWithClusterBreakingPotential=true", "", nil).Expect(t, 200, "")
		running.Get(path).Expect(t, 404, "")
		running.Get(path[:strings.LastIndexByte(path, '/')]).Expect(t, 200, "")
	}
}
