package move

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/internal/etcdtest"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/operate"
)

func TestMain(m *testing.M) { os.Exit(etcdtest.Run(m)) }

// command runs one command line to its end.
func command(args ...string) (code int, stdout, stderr string) {
	var out bytes.Buffer
	cmd := &cobra.Command{Use: "store", SilenceUsage: true, SilenceErrors: true}
	cmd.AddCommand(NewImport(), NewExport())
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	if err := cmd.ExecuteContext(context.Background()); err != nil {
		return 1, out.String(), err.Error()
	}
	return 0, out.String(), ""
}

// line is an object that was recorded at a kube-apiserver with its etcd.
type line struct {
	Place, Key string
	Value      []byte
	Object     map[string]any
}

// recorded are the objects that were recorded of all built-in kinds, and some custom ones.
func recorded(t *testing.T) (all []line) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "registry", "testdata", "reference.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for one := range bytes.Lines(text) {
		var l line
		if err := json.Unmarshal(one, &l); err != nil {
			t.Fatal(err)
		}
		if l.Place != "" {
			all = append(all, l)
		}
	}
	return all
}

// recordedPlaces are the values of recorded, by place.
func recordedPlaces(t *testing.T) map[string]string {
	t.Helper()
	places := map[string]string{}
	for _, l := range recorded(t) {
		places[l.Place] = string(l.Value)
	}
	return places
}

// filled puts values into etcd, and returns the revision at which each place got its value.
func filled(t *testing.T, url string, places map[string]string) map[string]int64 {
	t.Helper()
	c := etcdtest.Client(t, url)
	revisions := map[string]int64{}
	for place, value := range places {
		r, err := c.Put(t.Context(), "/registry"+place, value)
		if err != nil {
			t.Fatal(err)
		}
		revisions[place] = r.Header.Revision
	}
	return revisions
}

// TestImportFromEtcd imports what a kube-apiserver has stored, and compares each object with the
// answer that it gave.
func TestImportFromEtcd(t *testing.T) {
	url, dir := etcdtest.Start(t), t.TempDir()
	all := recorded(t)
	places := map[string]string{"/ranges/serviceips": "foreign"}
	for _, l := range all {
		places[l.Place] = string(l.Value)
	}
	revisions := filled(t, url, places)
	code, out, stderr := command("import", "--from-etcd="+url, "--data-dir="+dir)
	if code != 0 || !strings.Contains(out, fmt.Sprintf("has the state of revision %d; 1 keys are not objects, 0 values were left out", len(places)+1)) {
		t.Fatalf("%d: %s%s", code, out, stderr)
	}
	e, err := store.OpenReadOnly(store.Config{Dir: operate.StoreDir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(t.Context(), func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
	for _, l := range all {
		entry, err := e.Get(t.Context(), l.Key)
		if err != nil || int64(entry.Revision) != revisions[l.Place] {
			t.Errorf("%s at %d: %v, expected %d", l.Key, entry.Revision, err, revisions[l.Place])
			continue
		}
		l.Object["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(revisions[l.Place])
		var got map[string]any
		if err := json.Unmarshal(entry.Body, &got); err != nil || !reflect.DeepEqual(got, l.Object) {
			t.Errorf("%s: %v\nimported %s\nexpected %v", l.Key, err, entry.Body, l.Object)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if code, out, stderr = command("import", "--from-etcd="+url, "--data-dir="+dir); code != 1 || !strings.Contains(stderr, "is there already; move it away before") {
		t.Errorf("a second import: %d: %s%s", code, out, stderr)
	}
	servedImport(t, dir, len(places)+1)
}

// servedImport starts a server on the imported store, reads a custom object, whose definition was
// imported too, and writes an object.
func servedImport(t *testing.T, dir string, revision int) {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("secret,admin,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := server.Start(context.Background(), server.Config{DataDir: dir, Background: server.Background{Controllers: []string{"-*"}},
		PKI: server.PKI{TokenAuthFile: tokens}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	ask := func(method, path, body string) (int, map[string]any) {
		r, err := http.NewRequest(method, s.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer secret")
		answer, err := trusting(t, s.CA()).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(answer.Body)
		var value map[string]any
		_ = json.Unmarshal(text, &value)
		return answer.StatusCode, value
	}
	custom := 0
	for _, l := range recorded(t) {
		group, _, _ := strings.Cut(l.Key, "/")
		if strings.HasSuffix(group, ".example.com") {
			custom++
			parts := strings.Split(l.Key, "/")
			path := "/apis/" + l.Object["apiVersion"].(string) + "/namespaces/" + parts[2] + "/" + parts[1] + "/" + parts[3]
			if code, got := ask("GET", path, ""); code != 200 || !reflect.DeepEqual(got["spec"], l.Object["spec"]) {
				t.Errorf("%s: %d %v, expected %v", path, code, got, l.Object)
			}
		}
	}
	if custom == 0 {
		t.Error("no custom object was recorded")
	}
	code, made := ask("POST", "/api/v1/namespaces/default/configmaps", `{"metadata":{"name":"new"}}`)
	metadata, _ := made["metadata"].(map[string]any)
	var at int
	if _, err := fmt.Sscan(fmt.Sprint(metadata["resourceVersion"]), &at); code != 201 || err != nil || at <= revision {
		t.Errorf("a new object: %d %v, expected a revision after %d", code, made, revision)
	}
}

// TestImportRefuses: values that cannot be read, wrong places of etcd, and missing flags.
func TestImportRefuses(t *testing.T) {
	url := etcdtest.Start(t)
	filled(t, url, map[string]string{"/configmaps/default/broken": "k8s\x00broken"})
	dir := t.TempDir()
	code, out, stderr := command("import", "--from-etcd="+url, "--data-dir="+dir)
	if code != 1 || !strings.Contains(out, "/registry/configmaps/default/broken: ") || !strings.Contains(stderr, "1 values cannot be read; nothing was imported") {
		t.Errorf("%d: %s%s", code, out, stderr)
	}
	if _, err := os.Stat(operate.StoreDir(dir)); err == nil {
		t.Error("a refused import made a store")
	}
	if code, out, stderr = command("import", "--from-etcd="+url, "--data-dir="+dir, "--leave-out-unreadable"); code != 0 || !strings.Contains(out, "1 values were left out") {
		t.Errorf("%d: %s%s", code, out, stderr)
	}
	for args, want := range map[string]string{ // of imports
		"--data-dir=" + dir: "no source: give the URLs of the members of etcd with --from-etcd",
		"--from-etcd=http://127.0.0.1:1 --data-dir=" + dir + "/x":          "http://127.0.0.1:1 does not answer",
		"--from-etcd=" + url + " --etcd-cafile=/nowhere --data-dir=" + dir: "--etcd-cafile: ",
	} {
		if code, _, stderr := command(append([]string{"import"}, strings.Fields(args)...)...); code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: %d %s, expected %q", args, code, stderr, want)
		}
	}
}

// trusting is a client that trusts an authority.
func trusting(t *testing.T, authority []byte) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// bodies are the objects of a store by their keys, without their revisions.
func bodies(t *testing.T, dir string) map[string]map[string]any {
	t.Helper()
	e, err := store.OpenReadOnly(store.Config{Dir: operate.StoreDir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	view, err := e.At(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = view.Close() }()
	all := map[string]map[string]any{}
	if err := view.Scan(t.Context(), "", "", func(e *store.Entry) bool {
		if strings.HasPrefix(e.Key, "capstan/") {
			return true
		}
		var body map[string]any
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Errorf("%s: %v", e.Key, err)
			return true
		}
		delete(body["metadata"].(map[string]any), "resourceVersion")
		all[string([]byte(e.Key))] = body
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return all
}
