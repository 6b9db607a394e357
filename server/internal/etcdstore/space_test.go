package etcdstore_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// messages counts the messages of a log.
type messages struct {
	mu  sync.Mutex
	all map[string]int
}

// Write implements io.Writer for lines of JSON.
func (m *messages) Write(line []byte) (int, error) {
	var of struct{ Msg, Error string }
	if err := json.Unmarshal(line, &of); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all[of.Msg]++
	return len(line), nil
}

// TestNoSpace: a server whose etcd is full answers creates and updates as one whose disk is full, and
// goes on with reads, watches and deletes. When there is space again it goes on with all, without a
// restart. The log is not flooded.
func TestNoSpace(t *testing.T) {
	url := etcdtest.Start(t, "-quota", "6000000")
	log := &messages{all: map[string]int{}}
	s := harness.Start(t, func(c *server.Config) {
		harness.OnEtcd(c, url, "/registry")
		c.Controllers, c.Logger = nil, slog.New(slog.NewJSONHandler(log, nil))
	})
	const maps, events = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/events"
	s.AwaitCode("/readyz", 200)
	s.Post(maps, `{"metadata":{"name":"small"}}`).Expect(t, 201, "")
	s.Post(maps, `{"metadata":{"name":"large"}}`).Expect(t, 201, "")
	watch := s.Watch(maps + "?watch=1&fieldSelector=metadata.name%3Dsmall")
	watch.Expect("ADDED small")
	begin, code := time.Now(), 200
	for i := 0; code == 200 && i < 100; i++ {
		text := strings.Repeat(fmt.Sprint(i%10), 500_000)
		code = s.Send("PUT", maps+"/large", "application/json", fmt.Appendf(nil, `{"metadata":{"name":"large"},"data":{"a":%q}}`, text)).Code
	}
	if code != 507 {
		t.Fatalf("the last update is answered %d", code)
	}
	loseLead(t, url)
	for full := time.Now(); time.Since(full) < 4*time.Second; {
		s.Post(maps, `{"metadata":{"name":"more"}}`).Expect(t, 507, "InsufficientStorage")
		s.Post(events, `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}`).Expect(t, 507, "InsufficientStorage")
		s.Get(maps+"/small").Expect(t, 200, "")
	}
	s.Get("/readyz").Expect(t, 500, "")
	s.Get("/livez").Expect(t, 200, "")
	if err := s.Running.Live(); err != nil {
		t.Error(err)
	}
	s.Send("DELETE", maps+"/small", "", nil).Expect(t, 200, "")
	watch.Expect("DELETED small")
	s.Send("DELETE", maps+"/large", "", nil).Expect(t, 200, "")
	makeSpace(t, url)
	s.AwaitCode("/readyz", 200)
	s.Post(maps, `{"metadata":{"name":"more"}}`).Expect(t, 201, "")
	s.Post(events, `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}`).Expect(t, 201, "")
	log.mu.Lock()
	defer log.mu.Unlock()
	delete(log.all, "health check failed") // one for each of our questions
	if log.all["etcd: this server cannot try to lead, and tries again"] == 0 {
		t.Error("the server has not tried to lead")
	}
	for message, n := range log.all {
		if most := int(time.Since(begin)/time.Second) + 3; n > most {
			t.Errorf("%d times %s", n, message)
		}
	}
}

// loseLead ends the lead of the server that runs the controllers.
func loseLead(t *testing.T, url string) {
	t.Helper()
	c := etcdtest.Client(t, url)
	lead, err := c.Get(t.Context(), "/registry/capstan/leads/controllers")
	if err != nil || len(lead.Kvs) != 1 {
		t.Fatal(lead, err)
	}
	if _, err := c.Revoke(t.Context(), clientv3.LeaseID(lead.Kvs[0].Lease)); err != nil {
		t.Fatal(err)
	}
}

// makeSpace does what an operator does with a full etcd.
func makeSpace(t *testing.T, url string) {
	t.Helper()
	c := etcdtest.Client(t, url)
	now, err := c.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compact(t.Context(), now.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Defragment(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	if _, err := c.AlarmDisarm(t.Context(), &clientv3.AlarmMember{}); err != nil {
		t.Fatal(err)
	}
}
