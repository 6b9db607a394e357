package etcdstore_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/kmstest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestKeyServices: all servers read secrets in etcd that a key management service guards. While the service
// is away, writes and reads with known keys go on.
func TestKeyServices(t *testing.T) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("v", version), func(t *testing.T) { guardedSecrets(t, version) })
	}
}

func guardedSecrets(t *testing.T, version int) {
	kms, url := kmstest.Start(t), harness.Etcd(t)
	start := func() *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.EncryptionConfigFile = harness.EncryptionConfig(t, fmt.Sprintf(`{kms: {apiVersion: v%d, name: k, endpoint: %q, timeout: 500ms}}, {identity: {}}`, version, kms.Endpoint), "services")
		})
	}
	one, other := start(), start()
	const secrets, maps = "/api/v1/namespaces/default/secrets", "/api/v1/namespaces/default/configmaps"
	for i := range 20 {
		name := fmt.Sprint("s", i)
		one.Post(secrets, fmt.Sprintf(`{"metadata":{"name":%q},"stringData":{"a":"hidden"}}`, name)).Expect(t, 201, "")
		if got := other.Get(secrets+"/"+name).Field(t, "data.a"); got != "aGlkZGVu" {
			t.Fatalf("%s is read as %v", name, got)
		}
	}
	if n := kms.Asked.Load(); n > 20 {
		t.Errorf("20 secrets, two servers and their replicas took %d questions", n)
	}
	client := etcdtest.Client(t, url)
	for _, place := range []string{"secrets/default/s1", "services/specs/default/kubernetes", "ranges/serviceips"} {
		value, err := client.Get(t.Context(), "/registry/"+place)
		if mark := fmt.Sprintf("k8s:enc:kms:v%d:k:", version); err != nil || len(value.Kvs) != 1 || !strings.HasPrefix(string(value.Kvs[0].Value), mark) {
			t.Errorf("in etcd lies %s: %q, %v", place, value.Kvs, err)
		}
	}

	kms.Hangs.Store(true)
	one.Post(secrets, `{"metadata":{"name":"during"}}`).Expect(t, 201, "")
	for _, s := range []*harness.Server{one, other} { // the key is known to both
		s.Get(secrets+"/during").Expect(t, 200, "")
		s.Post(maps, `{"metadata":{"generateName":"m"}}`).Expect(t, 201, "")
		s.Get("/readyz/kms-provider-0").Expect(t, 500, "")
	}
	kms.Hangs.Store(false)
	third := start()
	third.Get(secrets+"/during").Expect(t, 200, "")
	third.Post(secrets, `{"metadata":{"name":"third"}}`).Expect(t, 201, "")
	one.Get(secrets+"/third").Expect(t, 200, "")

	kms.Hangs.Store(true) // a server that knows no key comes
	began := time.Now()
	kms.Key.Store(1)
	time.AfterFunc(time.Second, func() { kms.Hangs.Store(false) })
	start().Get(secrets+"/third").Expect(t, 200, "")
	if took := time.Since(began); took < time.Second {
		t.Errorf("a server without keys served after %s", took)
	}
}
