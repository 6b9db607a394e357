package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/operate"
)

// put stores a text as an older release might have, with a place for its revision.
func put(t *testing.T, s store.Store, key, text string) {
	t.Helper()
	const place = `"resourceVersion":"`
	at := strings.Index(text, place) + len(place)
	if at < len(place) {
		t.Fatalf("%s has no place for a revision: %s", key, text)
	}
	end := at + strings.IndexByte(text[at:], '"')
	_, err := s.Update(context.Background(), key, func(current *store.Entry) (store.Write, error) {
		op := store.OpCreate
		if current != nil {
			op = store.OpUpdate
		}
		return store.Write{Op: op, Value: store.Value{Body: []byte(text[:at] + text[end:]), RevisionAt: at}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

const (
	autoscalerKey = "autoscaling/horizontalpodautoscalers/default/web"
	schemaKey     = "flowcontrol.apiserver.k8s.io/flowschemas/old"
)

// A store with objects in versions that are not storage versions any more, and one in an
// old form, is served as if they were in the present form; a migration rewrites these,
// and only these.
func TestMigrateBesideRequests(t *testing.T) {
	dir := t.TempDir()
	onDisk := func(c *server.Config) { c.InMemory, c.DataDir = false, dir }
	var texts map[string]string
	t.Run("before", func(t *testing.T) {
		h := harness.Start(t, onDisk)
		h.Post("/apis/autoscaling/v2"+harness.Autoscalers, harness.AutoscalerV2)
		h.Post("/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas", `{"metadata":{"name":"old"},"spec":{"priorityLevelConfiguration":{"name":"exempt"}}}`)
		h.Post(harness.ConfigMaps, harness.ConfigMap("form", `{"b":"2","a":"1"}`))
		texts = map[string]string{
			autoscalerKey:                  string(h.Get("/apis/autoscaling/v1" + harness.Autoscalers + "/web").Body),
			schemaKey:                      string(h.Get("/apis/flowcontrol.apiserver.k8s.io/v1beta1/flowschemas/old").Body),
			"core/configmaps/default/form": strings.Replace(string(h.Get(harness.ConfigMaps+"/form").Body), `"data":{`, `"gone":1,"data":{`, 1),
		}
	})
	e, err := store.Open(store.Config{Dir: operate.StoreDir(dir)})
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range texts {
		put(t, e, key, text)
	}
	// Such a store was written by a release that kept no record.
	if _, err := e.Update(context.Background(), "capstan/stored-versions", func(current *store.Entry) (store.Write, error) {
		return store.Write{Op: store.OpDelete, Value: store.Value{Body: current.Body, RevisionAt: -1}}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	t.Run("after", func(t *testing.T) {
		h := harness.Start(t, onDisk)
		const v1, v2 = "/apis/autoscaling/v1" + harness.Autoscalers, "/apis/autoscaling/v2" + harness.Autoscalers
		const utilization = "spec.metrics.1.resource.target.averageUtilization"
		right := func() {
			t.Helper()
			for path, want := range map[string]any{v2 + "/web": 60.0, v2 + "?limit=5": nil, v2 + "?fieldSelector=metadata.name%3Dweb": nil} {
				field := utilization
				if want == nil {
					field, want = "items.0."+utilization, 60.0
				}
				if got := h.Get(path); got.Code != http.StatusOK || !bytes.Contains(got.Body, []byte(`"apiVersion":"autoscaling/v2"`)) || got.Field(t, field) != want {
					t.Errorf("%s: %d %s", path, got.Code, got.Body)
				}
			}
			if got := h.Get(v1 + "/web"); got.Code != http.StatusOK || got.Field(t, "spec.targetCPUUtilizationPercentage") != 60.0 {
				t.Errorf("%d %s", got.Code, got.Body)
			}
			if got := h.Get("/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas/old"); got.Field(t, "apiVersion") != "flowcontrol.apiserver.k8s.io/v1beta2" {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		}
		right()
		if got := h.Send("PATCH", v2+"/web?dryRun=All", "application/merge-patch+json", []byte(`{"spec":{"maxReplicas":9}}`)); got.Code != http.StatusOK || got.Field(t, utilization) != 60.0 {
			t.Errorf("%d %s", got.Code, got.Body)
		}

		untouched := h.Get("/api/v1/namespaces/default").Field(t, "metadata.resourceVersion")
		list := h.Get(v2)
		watch := h.WatchLines(v2 + "?watch=1&timeoutSeconds=20&resourceVersion=" + list.Field(t, "metadata.resourceVersion").(string))
		first := harness.Migrated(t, operate.Client{DataDir: dir}.Migrate)
		if first.Rewritten != 3 || first.Failed != 0 || first.Looked < 50 {
			t.Errorf("the first migration: %+v", first)
		}
		if event := watch(); !strings.HasPrefix(event, `{"type":"MODIFIED","object":{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2"`) {
			t.Errorf("a watch saw %s", event)
		}
		right()
		if got := h.Get(harness.ConfigMaps + "/form"); bytes.Contains(got.Body, []byte("gone")) {
			t.Errorf("the form is as it was: %s", got.Body)
		}
		if again := harness.Migrated(t, operate.Client{DataDir: dir}.Migrate); again.Rewritten != 0 || again.Looked != first.Looked {
			t.Errorf("the second migration: %+v", again)
		}
		if got := h.Get("/api/v1/namespaces/default").Field(t, "metadata.resourceVersion"); got != untouched {
			t.Errorf("the namespace was at %v and is at %v", untouched, got)
		}
	})
	if again := harness.Migrated(t, func(ctx context.Context, report func(operate.Step)) error {
		return server.MigrateStore(ctx, server.Config{DataDir: dir}, report)
	}); again.Rewritten != 0 {
		t.Errorf("a migration of the closed store: %+v", again)
	}
	if e, err = store.OpenReadOnly(store.Config{Dir: operate.StoreDir(dir)}); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	got, err := e.Get(context.Background(), autoscalerKey)
	if err != nil || !bytes.HasPrefix(got.Body, []byte(`{"kind":"HorizontalPodAutoscaler","apiVersion":"autoscaling/v2"`)) {
		t.Errorf("%v %s", err, got.Body)
	}
}

// failingStore fails writes after some objects.
type failingStore struct {
	store.Store
	left   chan struct{}
	writes chan string
}

var errCut = errors.New("cut off")

func (f *failingStore) Update(ctx context.Context, key string, fn func(*store.Entry) (store.Write, error)) (store.Entry, error) {
	if !strings.HasPrefix(key, "capstan/") {
		select {
		case <-f.left:
		default:
			return store.Entry{}, errCut
		}
		f.writes <- key
	}
	return f.Store.Update(ctx, key, fn)
}

// An interrupted migration continues, and rewrites nothing twice.
func TestMigrateGoesOn(t *testing.T) {
	ctx := context.Background()
	e, err := store.Open(store.Config{Dir: "store", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	const count, before = 1200, 700
	for i := range count {
		put(t, e, fmt.Sprintf("storage.k8s.io/csistoragecapacities/default/c%04d", i), `{"kind":"CSIStorageCapacity","apiVersion":"storage.k8s.io/v1beta1","metadata":{"name":"c`+strconv.Itoa(i)+`","namespace":"default","uid":"u","resourceVersion":"","creationTimestamp":"2022-01-01T00:00:00Z"},"storageClassName":"s"}`)
	}
	put(t, e, "core/configmaps/default/bad", `{"kind":"ConfigMap","apiVersion":"v7","metadata":{"name":"bad","namespace":"default","uid":"u","resourceVersion":"","creationTimestamp":null}}`)
	f := &failingStore{Store: e, left: make(chan struct{}, 2*count), writes: make(chan string, 2*count)}
	for range before {
		f.left <- struct{}{}
	}
	var problems []string
	err = harness.Migrate(ctx, f, func(s operate.Step) { problems = append(problems, s.Problem) })
	if !errors.Is(err, errCut) || !strings.Contains(err.Error(), "run it again to go on") {
		t.Fatalf("the first run: %v", err)
	}
	if len(problems) != 1 || !strings.Contains(problems[0], `core/configmaps/default/bad: the object is stored in version "v7", which this server does not know`) {
		t.Errorf("problems: %q", problems)
	}
	for range count {
		f.left <- struct{}{}
	}
	written := len(f.writes)
	var steps []operate.Step
	if err := harness.Migrate(ctx, f, func(s operate.Step) { steps = append(steps, s) }); err != nil {
		t.Fatal(err)
	}
	last := steps[len(steps)-1]
	if !steps[0].Resumed || steps[0].Looked != 513 || last.Looked != count+1 || last.Failed != 1 {
		t.Errorf("the second run began with %+v and ended with %+v", steps[0], last)
	}
	if again := len(f.writes) - written; again != count-before+1 {
		t.Errorf("the second run wrote %d objects, the first %d", again, written)
	}
	if last := harness.Migrated(t, func(ctx context.Context, report func(operate.Step)) error {
		return harness.Migrate(ctx, e, report)
	}); last.Rewritten != 0 || last.Failed != 1 {
		t.Errorf("the third run: %+v", last)
	}
}

// Fresh writes are in the present form: every kind, in every version.
func TestNothingToMigrate(t *testing.T) {
	dir := t.TempDir()
	var made int64
	t.Run("write", func(t *testing.T) {
		h := harness.Start(t, func(c *server.Config) {
			withEverything(c)
			c.InMemory, c.DataDir = false, dir
		})
		for _, stored := range []bool{false, true} {
			made += makeAll(h, stored)
		}
	})
	last := harness.Migrated(t, func(ctx context.Context, report func(operate.Step)) error {
		return server.MigrateStore(ctx, server.Config{DataDir: dir}, report)
	})
	if last.Rewritten != 0 || last.Failed != 0 || last.Looked < made {
		t.Errorf("of %d objects: %+v", made, last)
	}
}

// makeAll makes the example of every kind, in the storage versions, or in the others:
// these are deleted, since the examples of a kind may share their name.
func makeAll(h *harness.Server, stored bool) (made int64) {
	h.T.Helper()
	for _, gv := range generated.New(policy.New(time.Now), conversion.Hooks{}) {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			if !res.Stored || !res.Verbs.Has(api.VerbCreate|api.VerbDelete) || (res.Conversion == nil) != stored {
				continue
			}
			l := &life{Server: h, res: res}
			obj := l.example()
			path := gv.Prefix() + "/" + res.Plural
			if res.Namespaced {
				h.Post("/api/v1/namespaces", `{"metadata":{"name":"`+l.namespace+`"}}`)
				path = gv.Prefix() + "/namespaces/" + l.namespace + "/" + res.Plural
			}
			l.ask(http.StatusCreated, "POST", path, "application/json", obj)
			if stored {
				made++
			} else {
				l.ask(http.StatusOK, "DELETE", path+"/"+l.name, "", nil)
			}
		}
	}
	return made
}
