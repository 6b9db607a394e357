package scale

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// customBound is the most that an operation on a custom kind may cost, relative to the same
// on a built-in kind whose objects have the same bytes.
const customBound = 1.1

// kind is one of the compared kinds: config maps, and a custom kind with fields instead of
// keys.
type kind struct {
	collection, apiVersion, name, member string
	fields                               int               // set in each object
	revisions                            map[string]string // by name, before an update
}

// fields are those of the schema of the custom kind.
const fields = 200

// objectName is the name of an object.
func objectName(i int) string { return fmt.Sprintf("o-%06d", i) }

// object is an object with other values for another revision, which is that of the server
// if it is an update.
func (k *kind) object(i, revision int, update bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"apiVersion":%q,"kind":%q,"metadata":{"name":%q,"labels":{"app":"web-%d"}`, k.apiVersion, k.name, objectName(i), i%40)
	if update {
		fmt.Fprintf(&b, `,"resourceVersion":%q`, k.revisions[objectName(i)])
	}
	fmt.Fprintf(&b, `},%q:{`, k.member)
	for f := range k.fields {
		if f > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"field%03d":"%d value %s"`, f, revision, filler[:16])
	}
	b.WriteString("}}")
	return b.String()
}

// tableForm asks for a Table.
const tableForm = "application/json;as=Table;v=v1;g=meta.k8s.io"

// operation is a row: the request for the object i in a round.
type operation struct {
	name    string
	count   int // of operations in a round
	request func(k *kind, i, round int) (method, path, contentType, accept, body string)
}

func operations(count int) []operation {
	one := func(k *kind, i int) string { return k.collection + "/" + objectName(i) }
	return []operation{
		{"create", count, func(k *kind, i, round int) (method, path, contentType, accept, body string) {
			return http.MethodPost, k.collection, "application/json", "", k.object(i+round*count, 0, false)
		}},
		{"get", count, func(k *kind, i, _ int) (method, path, contentType, accept, body string) {
			return http.MethodGet, one(k, i), "", "", ""
		}},
		{"update", count, func(k *kind, i, round int) (method, path, contentType, accept, body string) {
			return http.MethodPut, one(k, i), "application/json", "", k.object(i, 1+round, true)
		}},
		{"merge-patch", count, func(k *kind, i, round int) (method, path, contentType, accept, body string) {
			return http.MethodPatch, one(k, i), "application/merge-patch+json", "", fmt.Sprintf(`{%q:{"field000":"patch %d"}}`, k.member, round)
		}},
		{"apply", count, func(k *kind, i, round int) (method, path, contentType, accept, body string) {
			return http.MethodPatch, one(k, i) + "?fieldManager=bench&force=true", "application/apply-patch+yaml", "", k.object(i, 1000+round, false)
		}},
		{"list", 30, func(k *kind, _, _ int) (method, path, contentType, accept, body string) {
			return http.MethodGet, k.collection, "", "", ""
		}},
		{"table", 30, func(k *kind, _, _ int) (method, path, contentType, accept, body string) {
			return http.MethodGet, k.collection, "", tableForm, ""
		}},
		{"label-selector", 100, func(k *kind, i, _ int) (method, path, contentType, accept, body string) {
			return http.MethodGet, k.collection + fmt.Sprintf("?labelSelector=app%%3Dweb-%d", i%40), "", "", ""
		}},
		{"delete", count, func(k *kind, i, round int) (method, path, contentType, accept, body string) {
			return http.MethodDelete, one(k, i+round*count), "", "", ""
		}},
	}
}

// Operations on a custom kind with 200 fields cost as much as those on config maps of the same
// bytes. The rounds of both kinds are in turn, and the medians are compared. Reads are
// measured again after a restart, before which the definition has changed and the schema
// has not. ROUNDS is another number of rounds, ROWS some of the rows.
func TestCustomKinds(t *testing.T) {
	dir := t.TempDir()
	s := startOn(t, dir)
	var pairs [][2]*kind
	for name, set := range map[string]int{"few": 40, "all": fields} {
		custom := s.defineWide(name+"things", name+"Thing", set)
		s.send(http.MethodPost, "/api/v1/namespaces", "application/json", `{"metadata":{"name":"`+name+`"}}`)
		pairs = append(pairs, [2]*kind{{"/api/v1/namespaces/" + name + "/configmaps", "v1", "ConfigMap", "data", set, nil}, custom})
	}
	all := operations(400)
	for _, pair := range pairs {
		s.compare(t, pair, all)
		s.send(http.MethodPatch, definitionsPath+"/"+pair[1].plural()+".bench.example.com", "application/merge-patch+json", `{"metadata":{"labels":{"changed":"true"}}}`)
	}
	s.stop()
	s = startOn(t, dir)
	defer s.stop()
	reads := slices.DeleteFunc(all, func(op operation) bool {
		return !slices.Contains([]string{"get", "list", "table", "label-selector"}, op.name)
	})
	for _, pair := range pairs {
		t.Log("after a restart:")
		s.compare(t, pair, reads)
	}
}

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

func (k *kind) plural() string { return k.collection[strings.LastIndexByte(k.collection, '/')+1:] }

// defineWide defines a kind with 200 fields, and waits until it is served. set is the
// number of fields that its objects set.
func (s *instance) defineWide(plural, name string, set int) *kind {
	var schema strings.Builder
	for f := range fields {
		if f > 0 {
			schema.WriteByte(',')
		}
		fmt.Fprintf(&schema, `"field%03d":{"type":"string","maxLength":200}`, f)
	}
	s.send(http.MethodPost, definitionsPath, "application/json", fmt.Sprintf(`{"metadata":{"name":"%[1]s.bench.example.com"},"spec":{"group":"bench.example.com","scope":"Namespaced",
		"names":{"plural":%[1]q,"kind":%[2]q},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"data":{"type":"object","properties":{%[3]s}}}}},
		"additionalPrinterColumns":[{"name":"First","type":"string","jsonPath":".data.field000"},
		{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}]}]}}`, plural, name, schema.String()))
	k := &kind{"/apis/bench.example.com/v1/namespaces/default/" + plural, "bench.example.com/v1", name, "data", set, nil}
	for s.code(k.collection) != http.StatusOK {
		time.Sleep(time.Millisecond)
	}
	return k
}

// compare measures rows of a built-in and a custom kind.
func (s *instance) compare(t *testing.T, pair [2]*kind, all []operation) {
	rounds := 9
	_, _ = fmt.Sscan(os.Getenv("ROUNDS"), &rounds)
	for _, op := range all {
		if op.name != "create" && !chosen("ROWS", op.name) {
			continue
		}
		var costs [2][]time.Duration
		var ratios []float64
		for round := range rounds {
			for i := range pair {
				which := (i + round) % 2
				costs[which] = append(costs[which], s.round(t, pair[which], op, round, 8))
			}
			if t.Failed() {
				return
			}
			ratios = append(ratios, float64(costs[1][round])/float64(costs[0][round]))
		}
		ratio := median(ratios)
		t.Logf("%-15s %3d fields: built-in %8.1f us, custom %8.1f us: %.2f", op.name, pair[1].fields, us(median(costs[0])), us(median(costs[1])), ratio)
		if ratio > customBound {
			t.Errorf("%s of a custom kind with %d fields costs %.2f times as much as of a built-in one, the bound is %.1f", op.name, pair[1].fields, ratio, customBound)
		}
	}
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func median[T cmp.Ordered](all []T) T {
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

// round performs one row for one kind by some clients, and returns the CPU time of the server
// for each operation.
func (s *instance) round(t *testing.T, k *kind, op operation, round, clients int) time.Duration {
	if op.name == "update" {
		s.readRevisions(k)
	}
	begin := s.exactCPU()
	var next atomic.Int64
	var running sync.WaitGroup
	for range clients {
		running.Go(func() {
			for i := int(next.Add(1)) - 1; i < op.count && !t.Failed(); i = int(next.Add(1)) - 1 {
				method, path, contentType, accept, body := op.request(k, i, round)
				if _, err := s.exchange(method, path, body, map[string]string{"Content-Type": contentType, "Accept": accept}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	running.Wait()
	return (s.exactCPU() - begin) / time.Duration(op.count)
}

// readRevisions reads the revisions of all objects of a kind.
func (s *instance) readRevisions(k *kind) {
	s.t.Helper()
	var list struct {
		Items []struct {
			Metadata struct{ Name, ResourceVersion string }
		}
	}
	if err := json.Unmarshal(s.send(http.MethodGet, k.collection, "", ""), &list); err != nil {
		s.t.Fatal(err)
	}
	k.revisions = map[string]string{}
	for _, item := range list.Items {
		k.revisions[item.Metadata.Name] = item.Metadata.ResourceVersion
	}
}

// exactCPU is the CPU time of the server's present threads in nanoseconds: ticks, in which
// cpu counts, are too coarse for a short round.
func (s *instance) exactCPU() (total time.Duration) {
	s.t.Helper()
	return cpuOf(s.t, s.pid)
}

// etcdCPU is the CPU time of the server's etcd so far; 0 without one.
func (s *instance) etcdCPU() time.Duration {
	s.t.Helper()
	if s.etcd == nil {
		return 0
	}
	return cpuOf(s.t, s.etcd.PID())
}

// cpuOf is the CPU time of the threads of a process.
func cpuOf(t *testing.T, pid int) (total time.Duration) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil || len(threads) == 0 {
		t.Skip("needs Linux")
	}
	for _, name := range threads {
		var ran time.Duration
		if text, err := os.ReadFile(name); err == nil {
			_, _ = fmt.Sscan(string(text), &ran)
		}
		total += ran
	}
	return total
}
