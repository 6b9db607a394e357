package etcdstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const event = `{"metadata":{"name":%q,"namespace":%q,"labels":{"n":%q}},"involvedObject":{"namespace":%q,"name":"web"},"reason":"Tried"}`

// withEvents are two servers with one etcd for events, and one for everything else, and clients of both
// etcds.
func withEvents(t *testing.T) (all []*harness.Server, main, events *clientv3.Client) {
	t.Helper()
	url, elsewhere := harness.Etcd(t), etcdtest.Start(t)
	for range 2 {
		all = append(all, harness.Start(t, func(c *server.Config) {
			harness.OnEtcd(c, url, "/registry")
			c.EtcdServersOverrides = []string{"/events#" + elsewhere}
			c.Controllers = []string{"*"}
		}))
	}
	return all, etcdtest.Client(t, url), etcdtest.Client(t, elsewhere)
}

// keys are those below a prefix in an etcd.
func keys(t *testing.T, c *clientv3.Client, prefix string) (all []string, revision int64) {
	t.Helper()
	r, err := c.Get(t.Context(), prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	for _, kv := range r.Kvs {
		all = append(all, string(kv.Key))
	}
	return all, r.Header.Revision
}

// TestEventsElsewhere: events lie in their own etcd, with its revisions and leases, and nothing else does.
// Every server reads, selects and watches at once what the other one has written.
func TestEventsElsewhere(t *testing.T) {
	all, main, elsewhere := withEvents(t)
	const path = "/api/v1/namespaces/default/events"
	_, before := keys(t, elsewhere, "/registry/events/")
	watches := []*harness.Stream{all[0].Watch(path + "?watch=1&fieldSelector=reason%3DTried"),
		all[1].Watch("/apis/events.k8s.io/v1/namespaces/default/events?watch=1&labelSelector=n")}
	var last string
	for i := range 20 {
		name := fmt.Sprint("e", i)
		made := all[i%2].Post(path, fmt.Sprintf(event, name, "default", fmt.Sprint("n", i%2), "default"))
		made.Expect(t, 201, "")
		last = fmt.Sprint(made.Field(t, "metadata.resourceVersion"))
		reader := all[(i+1)%2]
		reader.Get(path+"/"+name).Expect(t, 200, "")
		for query, want := range map[string]int{"?fieldSelector=reason%3DTried": i + 1, fmt.Sprintf("?labelSelector=n%%3Dn%d", i%2): i/2 + 1} {
			list := reader.Get(path + query)
			if items, _ := list.Field(t, "items").([]any); len(items) != want {
				t.Fatalf("%s has %d events, want %d", query, len(items), want)
			}
			if at := list.Field(t, "metadata.resourceVersion"); at != last {
				t.Fatalf("the list is at %v, the last event at %s", at, last)
			}
		}
		for _, w := range watches {
			w.Expect("ADDED " + name)
		}
	}
	have, now := keys(t, elsewhere, "/registry/events/default/e")
	if len(have) != 20 || last != fmt.Sprint(now) || now != before+20 {
		t.Errorf("%d events in their etcd, which went from %d to %d; the last event has %s", len(have), before, now, last)
	}
	if have, _ := keys(t, main, "/registry/events/"); len(have) > 0 {
		t.Errorf("in the etcd of everything else: %v", have)
	}
	if have, _ := keys(t, elsewhere, "/registry/"); slices.ContainsFunc(have, func(k string) bool {
		return !strings.HasPrefix(k, "/registry/events/") && !strings.HasPrefix(k, "/registry/capstan/")
	}) {
		t.Errorf("in the etcd of events: %v", have)
	}
	if leases, err := elsewhere.Leases(t.Context()); err != nil || len(leases.Leases) == 0 {
		t.Errorf("events without leases: %v, %v", leases, err)
	}
	for _, s := range all { // resumed at a revision of the events
		w := s.Watch(path + "?watch=1&resourceVersion=" + fmt.Sprint(before+18))
		w.Expect("ADDED e18")
		w.Expect("ADDED e19")
	}
	page := all[0].Get(path + "?limit=7")
	rest := all[1].Get(path + "?limit=20&continue=" + fmt.Sprint(page.Field(t, "metadata.continue")))
	if items, _ := rest.Field(t, "items").([]any); len(items) != 13 {
		t.Errorf("the second page has %d events", len(items))
	}
	all[0].Send("PATCH", path+"/e3", "application/merge-patch+json", []byte(`{"count":7}`)).Expect(t, 200, "")
	all[1].Send("DELETE", path+"/e4", "", nil).Expect(t, 200, "")
	watches[0].Expect("MODIFIED e3")
	watches[0].Expect("DELETED e4")
	all[0].Send("DELETE", path, "", nil).Expect(t, 200, "")
	if have, _ := keys(t, elsewhere, "/registry/events/default/e"); len(have) > 0 {
		t.Errorf("after the deletion: %v", have)
	}
}

// TestNamespaceOfEvents: the end of a namespace takes its events along, and no event is made in a namespace
// that ends, or is not there.
func TestNamespaceOfEvents(t *testing.T) {
	all, _, elsewhere := withEvents(t)
	const path = "/api/v1/namespaces/shop/events"
	all[0].Post(path, fmt.Sprintf(event, "e", "shop", "n", "shop")).Expect(t, 404, "")
	all[0].Post("/api/v1/namespaces", `{"metadata":{"name":"shop"}}`).Expect(t, 201, "")
	all[1].Post(path, fmt.Sprintf(event, "e", "shop", "n", "shop")).Expect(t, 201, "")
	all[0].Post(path, fmt.Sprintf(event, "e", "shop", "n", "shop")).Expect(t, 409, "AlreadyExists")
	all[0].Send("PUT", "/api/v1/namespaces/shop/finalize", "application/json",
		[]byte(`{"metadata":{"name":"shop"},"spec":{"finalizers":["kubernetes","example.com/wait"]}}`)).Expect(t, 200, "")
	all[1].Send("DELETE", "/api/v1/namespaces/shop", "", nil).Expect(t, 200, "")
	all[0].Post(path, fmt.Sprintf(event, "late", "shop", "n", "shop")).Expect(t, 403, "Forbidden")
	for end := time.Now().Add(30 * time.Second); ; {
		have, _ := keys(t, elsewhere, "/registry/events/shop/")
		if len(have) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the ended namespace has %v", have)
		}
	}
}

// TestEventsAway: without the etcd of events the server keeps everything else, answers requests for events
// with an error, and goes on with events when their etcd is there again.
func TestEventsAway(t *testing.T) {
	member := etcdtest.Cluster(t, 1)[0]
	s := harness.Start(t, func(c *server.Config) {
		harness.OnEtcd(c, harness.Etcd(t), "/registry")
		c.EtcdServersOverrides = []string{"/events#" + member.URL}
		c.RequestTimeout = 4 * time.Second
	})
	const maps, events = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/events"
	if err := member.Pause(); err != nil {
		t.Fatal(err)
	}
	if r := s.Post(events, fmt.Sprintf(event, "e", "default", "n", "default")); r.Code < 500 {
		t.Errorf("an event is answered %d: %s", r.Code, r.Body)
	}
	s.Post(maps, `{"metadata":{"name":"a"}}`).Expect(t, 201, "")
	s.Get(maps+"/a").Expect(t, 200, "")
	s.Get("/readyz").Expect(t, 200, "")
	if err := member.Resume(); err != nil {
		t.Fatal(err)
	}
	s.AwaitCode(events, 200)
	s.Post(events, fmt.Sprintf(event, "f", "default", "n", "default")).Expect(t, 201, "")
}
