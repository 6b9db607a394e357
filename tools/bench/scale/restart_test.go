package scale

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/capstan-dev/capstan/internal/etcdtest"
)

// The bounds of TestRestartOnEtcd, at every size.
const (
	restartReady = time.Second
	restartSent  = 4 << 20 // bytes of etcd's answers, without those about missed changes
)

// missed is the number of changes that are made while no server runs, of about 600 bytes each.
const missed = 1000

// shelf is an etcd with many config maps.
type shelf struct {
	t    *testing.T
	url  string
	etcd *clientv3.Client
	one  []byte // the value of a config map with a name of eight letters, and filler in it
}

// TestRestartOnEtcd: a server on an etcd with OBJECTS config maps of about 300 bytes that is started with its
// replica is ready within a second, and asks etcd only for what it missed. The times and memory of a
// start without a replica are reported.
func TestRestartOnEtcd(t *testing.T) {
	total := 1_000_000
	_, _ = fmt.Sscan(os.Getenv("OBJECTS"), &total)
	if os.Getenv("CAPSTAN_STRESS") == "" {
		t.Skip("takes a machine of its own for some minutes: CAPSTAN_STRESS=1")
	}
	f := &shelf{t: t, url: etcdtest.Start(t, "-quota", fmt.Sprint(8<<30))}
	var err error
	if f.etcd, err = clientv3.New(clientv3.Config{Endpoints: []string{f.url}, Logger: zap.NewNop()}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.etcd.Close() }()
	f.pattern()
	began := time.Now()
	f.put("m", total)
	t.Logf("%d config maps are in etcd after %s", total, time.Since(began).Round(time.Second))

	dir := t.TempDir()
	f.report("without a replica", dir, (*instance).stop)
	for _, one := range []struct {
		name  string
		bound int
		end   func(*instance)
	}{
		{"after a stop", restartSent, (*instance).kill},
		{"after a kill", restartSent, (*instance).stop},
	} {
		took, sent := f.report(one.name, dir, one.end)
		if took > restartReady || sent > one.bound {
			t.Errorf("%s: ready after %s, wanted %s; etcd sent %d bytes, wanted at most %d", one.name, took, restartReady, sent, one.bound)
		}
	}
	f.put("n", missed)
	if took, sent := f.report(fmt.Sprintf("after a stop and %d changes", missed), dir, (*instance).stop); took > restartReady || sent > restartSent+1000*missed {
		t.Errorf("with changes: ready after %s, etcd sent %d bytes", took, sent)
	}
	f.put("o", missed)
	f.compact()
	f.report("after a stop, and changes that etcd has compacted", dir, (*instance).stop)
}

// pattern has a server make a config map, whose value in etcd is copied.
func (f *shelf) pattern() {
	f.t.Helper()
	s := startOn(f.t, f.t.TempDir(), "--etcd-servers", f.url)
	defer s.stop()
	s.send("POST", collection, "application/json", `{"metadata":{"name":"original"},"data":{"text":"`+filler[:100]+`"}}`)
	answer, err := f.etcd.Get(f.t.Context(), "/registry/configmaps/default/original")
	if err != nil || len(answer.Kvs) != 1 {
		f.t.Fatal(answer, err)
	}
	f.one = answer.Kvs[0].Value
	f.t.Logf("a config map has %d bytes in etcd", len(f.one))
}

// put writes config maps into etcd whose names begin with a letter.
func (f *shelf) put(letter string, n int) {
	f.t.Helper()
	const together, writers, length = 100, 8, 100
	random := randomText(1 << 20)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for first := w * together; first < n; first += writers * together {
				var puts []clientv3.Op
				for i := first; i < min(first+together, n); i++ {
					name := fmt.Sprintf("%s%07d", letter, i)
					value := bytes.ReplaceAll(f.one, []byte("original"), []byte(name))
					at := i * 7919 % (len(random) - length)
					value = bytes.Replace(value, []byte(filler[:length]), []byte(random[at:at+length]), 1)
					puts = append(puts, clientv3.OpPut("/registry/configmaps/default/"+name, string(value)))
				}
				if _, err := f.etcd.Txn(context.Background()).Then(puts...).Commit(); err != nil {
					f.t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// compact removes the history of etcd.
func (f *shelf) compact() {
	f.t.Helper()
	now, err := f.etcd.Get(f.t.Context(), "/registry/", clientv3.WithCountOnly())
	if err == nil {
		_, err = f.etcd.Compact(f.t.Context(), now.Header.Revision)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// report starts a server, and reports how long it takes until it is ready, and what etcd sent for that.
func (f *shelf) report(name, dir string, end func(*instance)) (took time.Duration, sent int) {
	f.t.Helper()
	before := f.sent()
	s := startOn(f.t, dir, "--etcd-servers", f.url)
	for s.try(http.MethodGet, "/readyz", "") != nil {
		if time.Since(s.started) > 10*time.Minute {
			f.t.Fatal("the server is not ready")
		}
		time.Sleep(10 * time.Millisecond)
	}
	took, sent = time.Since(s.started).Round(time.Millisecond), int(f.sent()-before)
	asked := 0
	for line := range strings.Lines(string(s.send(http.MethodGet, "/metrics", "", ""))) {
		if strings.HasPrefix(line, "etcd_request_duration_seconds_count") {
			var n int
			_, _ = fmt.Sscan(line[strings.LastIndexByte(line, ' '):], &n)
			asked += n
		}
	}
	resident, cpu := s.resident(), s.cpu()
	f.t.Logf("%s: ready after %s, %s of CPU, %.0f MiB resident (%.0f MiB after a while), %d requests to etcd, which sent %.1f MB; the replica has %.0f MiB",
		name, took, cpu, resident/1024, settled(s)/1024, asked, float64(sent)/1e6, size(f.t, filepath.Join(dir, "store-replica"))/(1<<20))
	end(s)
	return took, sent
}

// sent is the number of bytes that etcd has sent to clients.
func (f *shelf) sent() float64 {
	f.t.Helper()
	response, err := http.Get(f.url + "/metrics")
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "\netcd_network_client_grpc_sent_bytes_total ")
	var n float64
	if _, err := fmt.Sscan(after, &n); err != nil || !ok {
		f.t.Fatal("etcd does not say how much it has sent: ", err)
	}
	return n
}

// size is the number of bytes of the files below a folder.
func size(t *testing.T, dir string) (sum float64) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				sum += float64(info.Size())
			}
		}
		return nil
	})
	return sum
}
