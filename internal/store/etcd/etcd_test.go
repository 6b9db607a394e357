package etcd_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/internal/store/etcd"
)

func TestMain(m *testing.M) { os.Exit(etcdtest.Run(m)) }

// raw keeps values as they are: the header, a zero byte, the body without its revision.
type raw struct{}

func (raw) Place(key string) string { return "/" + key }

func (raw) Key(place string) (string, bool) {
	key, ok := strings.CutPrefix(place, "/")
	return key, ok && !strings.HasPrefix(key, "foreign/") && !strings.HasPrefix(key, "capstan/") && !strings.HasPrefix(key, "masterleases/")
}

func (raw) Encode(_ string, v store.Value) ([]byte, error) {
	return fmt.Appendf(nil, "%s\x00%d\x00%s", v.Meta, v.RevisionAt, v.Body), nil
}

func (raw) Decode(key string, data []byte) (v store.Value, err error) {
	parts := bytes.SplitN(data, []byte{0}, 3)
	if len(parts) != 3 {
		return v, fmt.Errorf("%s is no value", key)
	}
	v.Meta, v.Body = parts[0], parts[2]
	_, err = fmt.Sscan(string(parts[1]), &v.RevisionAt)
	return v, err
}

func (raw) Equal(_ string, a, b store.Value) bool { return bytes.Equal(a.Body, b.Body) }

func (raw) Varies(string) bool { return false }

func (raw) Stale(string, []byte) bool { return false }

// Last takes the revision out of a body again, which stands in quotes at its end.
func (raw) Last(e store.Entry) (store.Value, error) {
	digits := fmt.Sprint(e.Revision)
	v := store.Value{Meta: e.Meta, Body: e.Body, RevisionAt: -1}
	if at := bytes.LastIndex(e.Body, []byte(`"`+digits+`"`)); at >= 0 {
		v.RevisionAt = at + 1
		v.Body = append(bytes.Clone(e.Body[:at+1]), e.Body[at+1+len(digits):]...)
	}
	return v, nil
}

// open opens a store on an etcd, with a replica on a file system.
func open(t testing.TB, url string, fs vfs.FS) *etcd.Engine {
	t.Helper()
	e, err := etcd.Open(t.Context(), etcd.Config{Endpoints: []string{url}, Prefix: "/registry", Form: raw{},
		Replica: store.Config{Dir: "replica", FS: fs}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}
