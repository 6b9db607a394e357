package etcd_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
)

// TestManyPages: a new replica has all keys of an etcd with more of them than fit into a page, small ones
// and large ones after each other, and no more questions are asked than pages need.
func TestManyPages(t *testing.T) {
	url := etcdtest.Start(t)
	etcd := etcdtest.Client(t, url)
	const small, large, together = 12_000, 300, 100
	for first := 0; first < small+large; first += together {
		var puts []clientv3.Op
		for i := first; i < first+together; i++ {
			text := ""
			if i >= small {
				text = strings.Repeat("x", 10_000)
			}
			puts = append(puts, clientv3.OpPut(fmt.Sprintf("/registry/a/%05d", i), "\x00-1\x00"+text))
		}
		if _, err := etcd.Txn(t.Context()).Then(puts...).Commit(); err != nil {
			t.Fatal(err)
		}
	}
	pages := ranges(t, url)
	e := open(t, url, vfs.NewMem())
	defer e.Close()
	r, err := e.At(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, err := r.Count(t.Context(), "a/", ""); err != nil || n != small+large {
		t.Errorf("the replica has %d keys, %v", n, err)
	}
	if pages = ranges(t, url) - pages; pages > 35 { // a page of keys, 25 of values, the greeting and the reads
		t.Errorf("etcd was asked %v times", pages)
	}
}

// ranges is the number of reads that an etcd has answered.
func ranges(t *testing.T, url string) (n float64) {
	t.Helper()
	response, err := http.Get(url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(text), "\netcd_debugging_mvcc_range_total ")
	if !ok {
		_, after, ok = strings.Cut(string(text), "\netcd_mvcc_range_total ")
	}
	if _, err := fmt.Sscan(after, &n); err != nil || !ok {
		t.Fatal("etcd does not count its reads: ", err)
	}
	return n
}
