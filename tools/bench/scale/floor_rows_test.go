package scale

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/etcdtest/member"
)

// row is an operation that both servers are asked for. send sends the one of a number and
// returns the length of the answer.
type row struct {
	name    string
	count   int // of operations in a round
	clients int
	items   int // in an answer, 0 when it is one object
	send    func(s *instance, i int, size string) (int, error)
}

// setting is a way to run the server, and the user who asks.
type setting struct {
	name    string
	flags   func(dir string) []string
	token   string
	prepare func(s *instance) *kind // the kind of the small objects
	etcd    bool                    // the server and the floor are on an etcd each
}

func configMaps(*instance) *kind {
	return &kind{collection: collection, apiVersion: "v1", name: "ConfigMap"}
}

var settings = []setting{
	{name: "default", token: token, prepare: configMaps},
	{name: "etcd", token: token, prepare: configMaps, etcd: true},
	{name: "audit", token: token, prepare: configMaps, flags: func(dir string) []string {
		if err := os.WriteFile(dir+"/audit.yaml", []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n"), 0o600); err != nil {
			panic(err)
		}
		return []string{"--audit-policy-file", dir + "/audit.yaml", "--audit-log-path", dir + "/audit.log"}
	}},
	{name: "user", token: userToken, prepare: func(s *instance) *kind {
		s.bindRoles()
		return configMaps(s)
	}},
	{name: "custom", token: token, prepare: func(s *instance) *kind {
		s.send(http.MethodPost, definitionsPath, "application/json", `{"metadata":{"name":"notes.bench.example.com"},"spec":{"group":"bench.example.com","scope":"Namespaced",
			"names":{"plural":"notes","kind":"Note"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{
			"data":{"type":"object","additionalProperties":{"type":"string"}}}}}}]}}`)
		const path = "/apis/bench.example.com/v1/namespaces/default/notes"
		for s.code(path) != http.StatusOK {
			time.Sleep(time.Millisecond)
		}
		return &kind{collection: path, apiVersion: "bench.example.com/v1", name: "Note"}
	}},
}

// bindRoles stores 100 roles and 1,000 bindings, 10 of which are of the user's group; one
// gives the rights that the rows need.
func (s *instance) bindRoles() {
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	for i := range 100 {
		s.send(http.MethodPost, rbac+"/clusterroles", "application/json", fmt.Sprintf(`{"metadata":{"name":"r%[1]d"},"rules":[{"verbs":["get","list","watch"],"apiGroups":["apps"],"resources":["deployments","k%[1]d"]},
			{"verbs":["get","list"],"apiGroups":[""],"resources":["services","endpoints"]}]}`, i))
	}
	s.send(http.MethodPost, rbac+"/clusterroles", "application/json", `{"metadata":{"name":"works"},"rules":[{"verbs":["*"],"apiGroups":[""],"resources":["configmaps","pods","pods/status"]}]}`)
	for i := range 1000 {
		group, role := fmt.Sprintf("group%d", i%99), fmt.Sprintf("r%d", i%100)
		if i%100 == 50 {
			group = "developers"
		}
		if i == 950 {
			role = "works"
		}
		s.send(http.MethodPost, rbac+"/namespaces/default/rolebindings", "application/json", fmt.Sprintf(`{"metadata":{"name":"b%d"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":%q},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":%q}]}`, i, role, group))
	}
}

// The costs of each row, in CPU time, as multiples of those of a floor: the least that a Go
// server can do for it. Both servers are under the same load at once, in new stores in each round, and the ratios
// in the middle are shown. ROUNDS, OPERATIONS, SETTINGS and ROWS bound it. PROFILES is a folder
// for profiles of the server, which needs many operations: it gets one for each second of a row.
func TestFloor(t *testing.T) {
	rounds, n := 3, 2000
	_, _ = fmt.Sscan(os.Getenv("ROUNDS"), &rounds)
	_, _ = fmt.Sscan(os.Getenv("OPERATIONS"), &n)
	n -= n % 100                     // whole numbers of objects for each selector
	ratios := map[string][]float64{} // by setting and row
	var names []string
	for range rounds {
		for _, set := range settings {
			if !chosen("SETTINGS", set.name) {
				continue
			}
			set.run(t, n, func(name string) bool { return chosen("ROWS", name) }, func(row string, server, floor time.Duration) {
				if !slices.Contains(names, row) {
					names = append(names, row)
				}
				t.Logf("%s %-22s %8.1f us, floor %8.1f us", set.name, row, us(server), us(floor))
				ratios[set.name+" "+row] = append(ratios[set.name+" "+row], float64(server)/float64(floor))
			})
		}
	}
	var table strings.Builder
	for _, name := range names {
		fmt.Fprintf(&table, "| %s |", name)
		for _, set := range settings {
			if all := ratios[set.name+" "+name]; len(all) > 0 {
				fmt.Fprintf(&table, " %.2f |", median(all))
			} else {
				table.WriteString(" - |")
			}
		}
		table.WriteByte('\n')
	}
	t.Logf("server ÷ floor, medians of %d rounds of %d operations\n| row | default | etcd | audit | user | custom |\n| --- | ---: | ---: | ---: | ---: | ---: |\n%s", rounds, n, &table)
}

// chosen reports whether a variable of the environment, a list with commas, has the name or is not set.
func chosen(variable, name string) bool {
	all := strings.FieldsFunc(os.Getenv(variable), func(r rune) bool { return r == ',' })
	return len(all) == 0 || slices.Contains(all, name)
}

// ratesBound is the least rate of durable creates by 64 clients, relative to the floor's.
const ratesBound = 0.45

// 64 clients create config maps as fast as they can, on the server and on a floor in turn.
func TestManyClients(t *testing.T) {
	s, floor := start(t), startFloor(t, t.TempDir())
	defer floor.kill()
	create := rowsOf(0, configMaps(s))[0]
	create.clients, create.count = 64, 4000
	var ratios []float64
	for round := range 5 {
		took := map[*instance]time.Duration{}
		for _, at := range []*instance{s, floor} {
			begin := time.Now()
			inRound := create
			inRound.send = func(at *instance, i int, size string) (int, error) {
				return create.send(at, i+round*create.count, size)
			}
			inRound.turn(t, at, "2400")
			took[at] = time.Since(begin)
		}
		ratios = append(ratios, float64(took[floor])/float64(took[s]))
	}
	t.Logf("the server creates %.2f times as many a second as the floor; rounds %.2f", median(ratios), ratios)
	if median(ratios) < ratesBound {
		t.Errorf("64 clients create %.2f times as many objects a second as on the floor, the bound is %.2f", median(ratios), ratesBound)
	}
}

// run performs the rows on a server and a floor, and reports their costs.
func (set setting) run(t *testing.T, n int, some func(string) bool, report func(row string, server, floor time.Duration)) {
	dir := t.TempDir()
	var flags []string
	if set.flags != nil {
		flags = set.flags(dir)
	}
	place, members := t.TempDir(), [2]*member.Member{}
	if set.etcd {
		for i := range members {
			members[i] = etcdtest.Cluster(t, 1)[0]
		}
		flags, place = append(flags, "--etcd-servers", members[0].URL), members[1].URL
	}
	server, floor := startOn(t, dir, flags...), startFloor(t, place)
	server.etcd, floor.etcd = members[0], members[1]
	defer server.stop()
	defer floor.kill()
	server.send(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", "application/json", `{"metadata":{"name":"measured"}}`)
	k := set.prepare(server)
	server.token = set.token
	both := []*instance{server, floor}
	measure := func(name string, cost func() []time.Duration) {
		before := [2]time.Duration{server.etcdCPU(), floor.etcdCPU()}
		profiled := func() {}
		if some(name) {
			profiled = server.profile(set.name + "-" + name)
		}
		costs := cost()
		profiled()
		if !t.Failed() && some(name) {
			report(name, costs[0], costs[1])
			if set.etcd {
				t.Logf("%s %-22s CPU of etcd in all: %v, floor %v", set.name, name, (server.etcdCPU() - before[0]).Round(time.Millisecond), (floor.etcdCPU() - before[1]).Round(time.Millisecond))
			}
		}
	}
	for _, r := range rowsOf(n, k) {
		if creates := strings.HasPrefix(r.name, "create-"); !creates && !some(r.name) {
			continue
		}
		if r.name == "update-configmap" {
			server.readRevisions(k)
		}
		length, err := r.send(server, 0, "") // shows the length
		if err != nil {
			t.Fatal(err)
		}
		size := strconv.Itoa(length)
		if r.items > 0 {
			size = fmt.Sprintf("%d*%d", length/r.items, r.items)
		}
		if _, err := r.send(floor, 0, size); err != nil {
			t.Fatal(err)
		}
		measure(r.name, func() []time.Duration { return r.abreast(t, size, both...) })
	}
	// A watch begins with the objects that are there, so the row needs that those of the others are deleted.
	if k.name == "ConfigMap" && some("watch-fanout") && some("delete-configmap") {
		for _, s := range both {
			if _, err := s.measured(http.MethodPost, k.collection, "application/json", "", `{"metadata":{"name":"a"},"data":{"n":"0","filler":"`+filler+`"}}`, "2300"); err != nil {
				t.Fatal(err)
			}
		}
		measure("watch-fanout", func() []time.Duration { return []time.Duration{fanOut(t, server, "2300"), fanOut(t, floor, "2300")} })
	}
}

// rowsOf are the rows for small objects of a kind, and for pods.
func rowsOf(n int, k *kind) []row {
	small := func(i, revision int) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"resourceVersion":%q,"labels":{"app":"web-%d"}},"data":{"n":"%d","filler":%q}}`,
			k.apiVersion, k.name, objectName(i), k.revisions[objectName(i)], i%50, revision, filler)
	}
	one := func(i int) string { return k.collection + "/" + objectName(i) }
	podOf := func(i int) string { return fmt.Sprintf("%s/pod-%06d", pods, i) }
	const merge, apply, binaryForm = "application/merge-patch+json", "application/apply-patch+yaml", "application/vnd.kubernetes.protobuf"
	get := func(path, accept string) func(*instance, int, string) (int, error) {
		return func(s *instance, _ int, size string) (int, error) {
			return s.measured(http.MethodGet, path, "", accept, "", size)
		}
	}
	write := func(method, contentType string, path func(int) string, body func(int) string) func(*instance, int, string) (int, error) {
		return func(s *instance, i int, size string) (int, error) {
			return s.measured(method, path(i), contentType, "", body(i), size)
		}
	}
	to := func(path string) func(int) string { return func(int) string { return path } }
	rows := []row{
		{"create-configmap", n, 32, 0, write(http.MethodPost, "application/json", to(k.collection), func(i int) string { return small(i, 0) })},
		{"update-configmap", n, 32, 0, write(http.MethodPut, "application/json", one, func(i int) string { return small(i, 1) })},
		{"apply-configmap", n, 32, 0, write(http.MethodPatch, apply, func(i int) string { return one(i) + "?fieldManager=bench&force=true" }, func(i int) string {
			return fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":{"applied":"yes"}},"data":{"applied":"%d"}}`, k.apiVersion, k.name, objectName(i), i)
		})},
		{"delete-configmap", n, 32, 0, write(http.MethodDelete, "application/json", one, func(int) string { return "" })},
	}
	if k.name != "ConfigMap" {
		return rows
	}
	return append(rows, []row{
		{"create-pod", n, 32, 0, write(http.MethodPost, "application/json", to(pods), func(i int) string {
			return strings.Replace(pod(i), `"spec":{`, `"spec":{"serviceAccountName":"measured",`, 1)
		})},
		{"merge-patch-pod-status", n, 32, 0, write(http.MethodPatch, merge, func(i int) string { return podOf(i) + "/status" }, func(i int) string {
			return fmt.Sprintf(`{"status":{"phase":"Running","podIP":"10.1.%d.%d","conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2024-01-01T00:00:00Z"}]}}`, i/250%250, i%250)
		})},
		{"get-pod", 2 * n, 32, 0, func(s *instance, i int, size string) (int, error) { return get(podOf(i*7%n), "")(s, i, size) }},
		{"get-pod-proto", 2 * n, 32, 0, func(s *instance, i int, size string) (int, error) {
			return get(podOf(i*7%n), binaryForm)(s, i, size)
		}},
		{"list-pods-json", 10, 2, n + 1, get(pods, "")},
		{"list-pods-proto", 10, 2, n + 1, get(pods, binaryForm)},
		{"list-pods-table", 10, 2, n + 1, get(pods, tableForm)},
		{"list-pods-paged", 10, 2, n + 1, func(s *instance, _ int, size string) (int, error) {
			return s.pages(pods+"?limit=500", size, time.Now().Add(time.Hour))
		}},
		{"list-pods-label", 100, 8, n / 50, get(pods+"?labelSelector=app%3Dweb-7", "")},
		{"list-pods-field", 100, 8, n / 100, get(pods+"?fieldSelector=spec.nodeName%3Dnode-7", "")},
	}...)
}

// measured sends a request whose answer the floor makes as long as the server's, and
// returns its length.
func (s *instance) measured(method, path, contentType, accept, body, size string) (int, error) {
	headers := answerOf(size)
	headers["Content-Type"], headers["Accept"] = contentType, accept
	resp, err := s.ask(method, path, body, headers)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	n, err := io.Copy(io.Discard, resp.Body)
	return int(n), err
}

// answerOf names the length of an answer, or that of each item, for the floor.
func answerOf(size string) map[string]string {
	bytes, items, _ := strings.Cut(size, "*")
	return map[string]string{"Answer-Bytes": bytes, "Answer-Items": items}
}

// pages reads a list page by page, to its end or to that of the given time.
func (s *instance) pages(path, size string, until time.Time) (total int, err error) {
	for next := ""; ; {
		resp, err := s.ask(http.MethodGet, path+"&continue="+next, "", answerOf(size))
		if err != nil {
			return 0, err
		}
		var head [1000]byte // with the token
		first, _ := io.ReadFull(resp.Body, head[:])
		rest, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if total += first + int(rest); err != nil {
			return total, err
		}
		_, after, _ := bytes.Cut(head[:first], []byte(`"continue":"`))
		token, _, _ := bytes.Cut(after, []byte(`"`))
		if next = string(token); next == "" || time.Now().After(until) {
			return total, nil
		}
	}
}

// turn performs a row once and returns the CPU time of the server for each operation.
func (r row) turn(t *testing.T, s *instance, size string) time.Duration {
	return r.abreast(t, size, s)[0]
}

// abreast performs a row once on each of some servers, and returns the CPU time of each for an operation. Each
// client asks one after the other, so that all are under the same load in the same moments.
func (r row) abreast(t *testing.T, size string, servers ...*instance) []time.Duration {
	costs := make([]time.Duration, len(servers))
	for i, s := range servers {
		costs[i] = -s.exactCPU()
	}
	var next atomic.Int64
	var clients sync.WaitGroup
	for range len(servers) * r.clients {
		clients.Go(func() {
			for i := int(next.Add(1)); i <= r.count; i = int(next.Add(1)) {
				for turn := range servers {
					if _, err := r.send(servers[(i+turn)%len(servers)], i, size); err != nil {
						t.Error(err)
						next.Store(int64(r.count))
					}
				}
			}
		})
	}
	clients.Wait()
	for i, s := range servers {
		costs[i] = (costs[i] + s.exactCPU()) / time.Duration(r.count)
	}
	return costs
}

// fanOut is the CPU time of the server for each event that one of 100 watches gets, while
// four clients write.
func fanOut(t *testing.T, s *instance, size string) time.Duration {
	const watches, updates = 100, 200
	w := &crowd{t: t, s: s}
	w.open(watches, func(s *instance) (*bufio.Reader, io.Closer, error) { return s.dial("") })
	defer w.close()
	w.want = watches * updates
	begin := s.exactCPU()
	writes := row{"", updates, 4, 0, func(s *instance, i int, size string) (int, error) {
		return s.measured(http.MethodPatch, object, "application/merge-patch+json", "", fmt.Sprintf(`{"data":{"n":"%d"}}`, i), size)
	}}
	writes.turn(t, s, size)
	select {
	case <-w.all:
	case <-time.After(time.Minute):
		t.Fatalf("%d events have been read, not more", w.read.Load())
	}
	return (s.exactCPU() - begin) / (watches * updates)
}
