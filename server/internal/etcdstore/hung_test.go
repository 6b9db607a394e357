package etcdstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestHungMember: while a member of etcd hangs, whichever it is, every request has an answer soon. A
// write that the member has got may be answered 504, and the next one is made.
func TestHungMember(t *testing.T) {
	members := etcdtest.Cluster(t, 3)
	s := harness.Start(t, func(c *server.Config) {
		harness.OnEtcd(c, members[0].URL, "/registry")
		c.EtcdServers = nil
		for _, m := range members {
			c.EtcdServers = append(c.EtcdServers, m.URL)
		}
	})
	const path = "/api/v1/namespaces/default/configmaps"
	s.Post(path, `{"metadata":{"name":"a"}}`).Expect(t, 201, "")
	watch := s.Watch(path + "?watch=1&fieldSelector=metadata.name%3Da")
	watch.Expect("ADDED a")
	for i, m := range members {
		if err := m.Pause(); err != nil {
			t.Fatal(err)
		}
		for last, n := 0, 0; n < 10 || last != 200; n++ {
			if n == 20 {
				t.Fatalf("while member %d hangs nothing is written", i)
			}
			begin := time.Now()
			last = s.Send("PUT", path+"/a", "application/json", fmt.Appendf(nil, `{"metadata":{"name":"a"},"data":{"n":"%d-%d"}}`, i, n)).Code
			read := s.Get(path + "/a")
			if took := time.Since(begin); last != 200 && last != 504 || read.Code != 200 || took > 15*time.Second {
				t.Errorf("while member %d hangs a write is answered %d and a read %d, in %v", i, last, read.Code, took)
			}
			if want := fmt.Sprintf("%d-%d", i, n); last == 200 && read.Field(t, "data.n") != want {
				t.Errorf("a read after the write of %s: %s", want, read.Body)
			}
		}
		s.AwaitCode("/readyz", 200)
		if err := m.Resume(); err != nil {
			t.Fatal(err)
		}
		if _, err := etcdtest.Client(t, m.URL).Get(t.Context(), "a"); err != nil { // it is one of the cluster again
			t.Fatal(err)
		}
	}
	watch.Expect("MODIFIED a")
}
