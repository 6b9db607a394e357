package scale

import (
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

	"github.com/capstan-dev/capstan/internal/etcdtest"
)

// cluster is two servers on one etcd. Everything is written through the first one, so that the second
// one shows what it costs to follow.
type cluster struct {
	t               *testing.T
	writer, follows *instance
	latest          []time.Duration // of the requests of a phase
	mu              sync.Mutex
}

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"

// TestCluster measures the unit costs of a large cluster on etcd: the leases of NODES nodes, renewed for
// SECONDS at the pace of kubelets, and PODS pods, made and patched.
func TestCluster(t *testing.T) {
	nodes, count, seconds := 10000, 100000, 20
	for name, n := range map[string]*int{"NODES": &nodes, "PODS": &count, "SECONDS": &seconds} {
		_, _ = fmt.Sscan(os.Getenv(name), n)
	}
	member, dir := etcdtest.Cluster(t, 1)[0], t.TempDir()
	on := func(name string) *instance {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
		s := startOn(t, filepath.Join(dir, name), "--etcd-servers", member.URL, "--cert-dir", filepath.Join(dir, "pki"))
		s.etcd = member
		return s
	}
	c := &cluster{t: t, writer: on("1")}
	t.Cleanup(func() { c.writer.stop() })
	c.writer.send(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", "application/json", `{"metadata":{"name":"measured"}}`)
	c.follows = on("2")
	t.Cleanup(func() { c.follows.stop() })
	c.writer.transport.MaxIdleConnsPerHost = 64

	revisions := make([]string, nodes)
	lease := func(i int) string {
		return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"node-%06d","resourceVersion":%q},"spec":{"holderIdentity":"node-%06[1]d","leaseDurationSeconds":40,"renewTime":%[3]q}}`,
			i, revisions[i], time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	put := func(method string, path func(i int) string) func(i int) error {
		return func(i int) error {
			text, err := c.writer.exchange(method, path(i), lease(i), map[string]string{"Content-Type": "application/json"})
			revisions[i] = fmt.Sprint(revisionOf(text))
			return err
		}
	}
	c.phase("leases made", nodes, 0, put(http.MethodPost, func(int) string { return leases }))
	renew := put(http.MethodPut, func(i int) string { return fmt.Sprintf("%s/node-%06d", leases, i) })
	c.phase("leases renewed", seconds*nodes/10, nodes/10, func(i int) error { return renew(i % nodes) })
	c.phase("pods made", count, 0, func(i int) error {
		return c.writer.try(http.MethodPost, pods, strings.Replace(pod(i), `"spec":{`, `"spec":{"serviceAccountName":"measured",`, 1))
	})
	c.phase("pods patched", count/10, 0, func(i int) error {
		_, err := c.writer.exchange(http.MethodPatch, fmt.Sprintf("%s/pod-%06d/status", pods, i), fmt.Sprintf(`{"status":{"phase":"Running","podIP":"10.1.%d.%d"}}`, i/250%250, i%250),
			map[string]string{"Content-Type": "application/merge-patch+json"})
		return err
	})
	c.phase("pods read", count/10, 0, func(i int) error {
		_, err := c.writer.exchange(http.MethodGet, fmt.Sprintf("%s/pod-%06d", pods, i), "", nil)
		return err
	})
	c.follows.stop()
	c.follows = on("2")
	t.Logf("a restart with the replica is ready after %v", c.follows.untilReady().Round(time.Millisecond))
	t.Logf("at rest: the writer has %.0f MiB, the other %.0f MiB", settled(c.writer)/1024, settled(c.follows)/1024)
}

// phase sends requests by 32 clients, as fast as they can or at a pace a second, and shows what each cost.
func (c *cluster) phase(name string, count, pace int, do func(i int) error) {
	c.t.Helper()
	c.latest = nil
	writer, follows, etcd, begin := c.writer.exactCPU(), c.follows.exactCPU(), c.writer.etcdCPU(), time.Now()
	var next atomic.Int64
	var clients sync.WaitGroup
	for range 32 {
		clients.Go(func() {
			for i := int(next.Add(1)) - 1; i < count; i = int(next.Add(1)) - 1 {
				if pace > 0 {
					time.Sleep(time.Until(begin.Add(time.Duration(i) * time.Second / time.Duration(pace))))
				}
				sent := time.Now()
				if err := do(i); err != nil {
					c.t.Error(err)
					next.Store(int64(count))
				}
				c.mu.Lock()
				c.latest = append(c.latest, time.Since(sent))
				c.mu.Unlock()
			}
		})
	}
	clients.Wait()
	took := time.Since(begin)
	slices.Sort(c.latest)
	each := func(before, now time.Duration) float64 { return us(now-before) / float64(count) }
	c.t.Logf("%-15s %7d, %6.0f a second: CPU of the writer %4.0f us each, of the other server %4.0f, of etcd %4.0f; p50 %.1f ms, p99 %.1f ms", name, count,
		float64(count)/took.Seconds(), each(writer, c.writer.exactCPU()), each(follows, c.follows.exactCPU()), each(etcd, c.writer.etcdCPU()),
		us(c.latest[len(c.latest)/2])/1000, us(c.latest[len(c.latest)*99/100])/1000)
}
