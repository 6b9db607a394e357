package move

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/etcdtest"
)

// TestExportToEtcd imports what a kube-apiserver has stored, and exports it into another etcd, which
// then has the same bytes.
func TestExportToEtcd(t *testing.T) {
	from, to, dir, again := etcdtest.Start(t), etcdtest.Start(t), t.TempDir(), t.TempDir()
	places := recordedPlaces(t)
	filled(t, from, places)
	seen := writeOften(t, from)
	for _, args := range [][]string{{"import", "--from-etcd=" + from, "--data-dir=" + dir}, {"export", "--to-etcd=" + to, "--data-dir=" + dir},
		{"import", "--from-etcd=" + to, "--data-dir=" + again}} {
		if code, out, stderr := command(args...); code != 0 {
			t.Fatalf("%q: %d: %s%s", args, code, out, stderr)
		}
	}
	if got, want := bodies(t, again), bodies(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("exported and imported again:\n%v\nexpected\n%v", got, want)
	}
	c := etcdtest.Client(t, to)
	for place, value := range places {
		r, err := c.Get(t.Context(), "/registry"+place)
		if err != nil || len(r.Kvs) != 1 {
			t.Errorf("%s: %v", place, err)
			continue
		}
		if at := r.Kvs[0].ModRevision; at <= seen {
			t.Errorf("%s has revision %d, while clients may have seen %d", place, at, seen)
		}
		// kube-apiserver adds these defaults when it reads such an object.
		late := strings.HasPrefix(place, "/persistentvolume") || strings.HasPrefix(place, "/jobs/")
		if got := string(r.Kvs[0].Value); got != value && !late {
			t.Errorf("%s: etcd has\n%q\nkube-apiserver wrote\n%q", place, got, value)
		}
	}
	if answer := <-c.Watch(t.Context(), "/registry", clientv3.WithPrefix(), clientv3.WithRev(seen)); !errors.Is(answer.Err(), rpctypes.ErrCompacted) {
		t.Errorf("a watch since a revision of the store gets %v, not that the revision is too old", answer)
	}
	anew := etcdtest.Start(t)
	if code, out, stderr := command("export", "--to-etcd="+anew, "--data-dir="+dir, "--revisions-anew"); code != 0 || strings.Contains(out, fmt.Sprint(seen)) {
		t.Errorf("an export with revisions of its own: %d: %s%s", code, out, stderr)
	}
	other := etcdtest.Client(t, anew)
	if r, err := other.Get(t.Context(), "/registry", clientv3.WithPrefix(), clientv3.WithCountOnly()); err != nil || r.Count < int64(len(places)) || r.Header.Revision >= seen {
		t.Errorf("an export with revisions of its own: %v, %v", r, err)
	}
}

// TestExportGoesOn: an export that was cut off goes on where it is run again, with encryption too. It touches nothing
// where something else is in etcd than what the export writes.
func TestExportGoesOn(t *testing.T) {
	from, to, dir := etcdtest.Start(t), etcdtest.Start(t), t.TempDir()
	places := recordedPlaces(t)
	filled(t, from, places)
	keys := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(keys, []byte(`{"kind":"EncryptionConfiguration","apiVersion":"apiserver.config.k8s.io/v1","resources":[{"resources":["configmaps","secrets"],
		"providers":[{"aesgcm":{"keys":[{"name":"k","secret":"MDEyMzQ1Njc4OWFiY2RlZg=="}]}},{"identity":{}}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, stderr := command("import", "--from-etcd="+from, "--data-dir="+dir, "--encryption-provider-config="+keys); code != 0 {
		t.Fatalf("%d: %s%s", code, out, stderr)
	}
	c := etcdtest.Client(t, to)
	values := func() map[string]string {
		t.Helper()
		r, err := c.Get(t.Context(), "/registry/", clientv3.WithPrefix())
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, kv := range r.Kvs {
			all[string(kv.Key)] = string(kv.Value)
		}
		return all
	}
	export := func(want int, says string) {
		t.Helper()
		if code, out, stderr := command("export", "--to-etcd="+to, "--data-dir="+dir, "--encryption-provider-config="+keys); code != want || !strings.Contains(out+stderr, says) {
			t.Fatalf("export: %d, want %d with %q: %s%s", code, want, says, out, stderr)
		}
	}
	const whole = "etcd has the objects of"
	export(0, whole)
	all := values()
	for n, place := range slices.Sorted(maps.Keys(all)) {
		var err error
		if n%3 > 0 {
			_, err = c.Delete(t.Context(), place)
		} else if n == 0 { // as Raise leaves it
			_, err = c.Put(t.Context(), "/registry/capstan/marks/raised", "")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cut := values()
	export(0, whole)
	again := values()
	if got, want := slices.Sorted(maps.Keys(again)), slices.Sorted(maps.Keys(all)); !slices.Equal(got, want) {
		t.Errorf("etcd has %q, want %q", got, want)
	}
	delete(cut, "/registry/capstan/marks/raised")
	for place, value := range cut {
		if again[place] != value {
			t.Errorf("%s was written again", place)
		}
	}
	export(0, whole) // nothing is left to do
	last := slices.Max(slices.Collect(maps.Keys(all)))
	for _, place := range []string{"/registry/pods/shop/other", "/registry/ranges/serviceips", last} {
		if _, err := c.Delete(t.Context(), slices.Min(slices.Collect(maps.Keys(all)))); err != nil {
			t.Fatal(err)
		}
		before := values()[place]
		if _, err := c.Put(t.Context(), place, "other"); err != nil {
			t.Fatal(err)
		}
		missing := len(values())
		export(1, "is in etcd already")
		if n := len(values()); n != missing {
			t.Errorf("with another value at %s the export has written %d", place, n-missing)
		}
		_, err := c.Delete(t.Context(), place)
		if before != "" {
			_, err = c.Put(t.Context(), place, before)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	export(0, whole)
}

// writeOften raises the revision of an etcd, and returns the revision.
func writeOften(t *testing.T, url string) (revision int64) {
	t.Helper()
	c := etcdtest.Client(t, url)
	for range 1000 {
		r, err := c.Put(t.Context(), "/elsewhere", "")
		if err != nil {
			t.Fatal(err)
		}
		revision = r.Header.Revision
	}
	return revision
}
