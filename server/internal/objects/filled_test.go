package objects_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// olderObjects are stored before and after the documents change.
var olderObjects = []struct{ collection, key, body string }{
	{"/api/v1/namespaces/%s/configmaps", "core/configmaps/%s/web", `{"metadata":{"name":"web","labels":{"team":"a"}},"data":{"a":"1","b":"2"}}`},
	{"/api/v1/namespaces/%s/pods", "core/pods/%s/web", `{"metadata":{"name":"web","labels":{"team":"a"}},"spec":{"containers":[
		{"name":"c","image":"i","livenessProbe":{"tcpSocket":{"port":80}}},{"name":"d","image":"i"}],"volumes":[{"name":"v","emptyDir":{}}]}}`},
	{"/apis/apps/v1/namespaces/%s/deployments", "apps/deployments/%s/web", `{"metadata":{"name":"web","labels":{"team":"a"}},"spec":{"selector":{"matchLabels":{"a":"b"}},
		"template":{"metadata":{"labels":{"a":"b"}},"spec":{"initContainers":[{"name":"i","image":"i"}],"containers":[{"name":"c","image":"i","readinessProbe":{"exec":{"command":["x"]}}}]}}}}`},
	{"/apis/batch/v1/namespaces/%s/cronjobs", "batch/cronjobs/%s/web", `{"metadata":{"name":"web","labels":{"team":"a"}},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}}}`},
	{"/apis/autoscaling/v1/namespaces/%s/horizontalpodautoscalers", "autoscaling/horizontalpodautoscalers/%s/web", `{"metadata":{"name":"web","labels":{"team":"a"}},"spec":{"maxReplicas":3,"scaleTargetRef":{"kind":"Deployment","name":"web","apiVersion":"apps/v1"}}}`},
}

// fillStore stores the objects in a namespace, and changes and deletes some.
func fillStore(h *harness.Server, namespace string) {
	h.T.Helper()
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"`+namespace+`"}}`).Expect(h.T, http.StatusCreated, "")
	for _, o := range olderObjects {
		path := fmt.Sprintf(o.collection, namespace)
		h.Post(path, o.body).Expect(h.T, http.StatusCreated, "")
		h.Post(path, strings.Replace(o.body, `"name":"web"`, `"name":"gone"`, 1)).Expect(h.T, http.StatusCreated, "")
		h.Send("PATCH", path+"/gone", "application/merge-patch+json", []byte(`{"metadata":{"labels":{"team":"b"}}}`)).Expect(h.T, http.StatusOK, "")
		h.Send("DELETE", path+"/gone", "application/json", []byte(`{"gracePeriodSeconds":0}`)).Expect(h.T, http.StatusOK, "")
	}
}

// anonymous is an object, list, event or table without the parts that differ between two
// equal objects in two namespaces.
func anonymous(t *testing.T, text []byte, namespace string) string {
	t.Helper()
	var clean func(v any) any
	clean = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for _, own := range []string{"uid", "resourceVersion", "managedFields"} {
				delete(v, own)
			}
			for name := range v {
				v[name] = clean(v[name])
			}
		case []any:
			for i := range v {
				v[i] = clean(v[i])
			}
		case string:
			return strings.ReplaceAll(v, namespace, "NS")
		}
		return v
	}
	var b strings.Builder
	for line := range bytes.Lines(text) {
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		out, err := json.Marshal(clean(v))
		if err != nil {
			t.Fatal(err)
		}
		b.Write(out)
		b.WriteByte('\n')
	}
	return b.String()
}

// reads are the results of all kinds of reads of the objects of a namespace; since is a
// revision before the first of them.
func reads(h *harness.Server, namespace, since, word string) map[string]string {
	h.T.Helper()
	all := map[string]string{}
	collections := []string{"/apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers", "/apis/autoscaling/v2beta2/namespaces/%s/horizontalpodautoscalers"}
	for _, o := range olderObjects {
		collections = append(collections, o.collection)
	}
	for _, collection := range collections {
		path := fmt.Sprintf(collection, namespace)
		for _, read := range []struct{ path, accept string }{
			{path + "/web", ""}, {path, ""}, {path + "?labelSelector=team%3Da", ""}, {path + "?resourceVersion=0", ""}, {path + "?limit=1", ""},
			{path + "/web", "application/json;as=Table;v=v1;g=meta.k8s.io"}, {path + "?includeObject=Object", "application/json;as=Table;v=v1;g=meta.k8s.io"},
			{path, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"},
		} {
			got := h.Send("GET", read.path, "", nil, "Accept", read.accept)
			if got.Code != http.StatusOK {
				h.T.Fatalf("%s: %d %s", read.path, got.Code, got.Body)
			}
			name := strings.ReplaceAll(strings.ReplaceAll(read.path, namespace, "NS"), since, "SINCE")
			all[name+" "+read.accept] = anonymous(h.T, got.Body, namespace)
		}
		for _, watch := range []struct {
			query  string
			events int
		}{
			{"?watch=1&timeoutSeconds=20&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", 2},
			{"?watch=1&timeoutSeconds=20&resourceVersion=" + since, 4},
			{"?watch=1&timeoutSeconds=20&labelSelector=team%3Da&resourceVersion=" + since, 3},
		} {
			next := h.WatchLines(path + watch.query)
			var lines strings.Builder
			for range watch.events {
				lines.WriteString(next())
			}
			name := strings.ReplaceAll(strings.ReplaceAll(path+watch.query, namespace, "NS"), since, "SINCE")
			all[name] = anonymous(h.T, []byte(lines.String()), namespace)
		}
		for _, path := range []string{path, path + "/web"} {
			got := h.Send("GET", path, "", nil, "Accept", "application/vnd.kubernetes.protobuf")
			all[strings.ReplaceAll(path, namespace, "NS")+" binary"] = fmt.Sprint(bytes.Count(got.Body, []byte(word)))
		}
	}
	return all
}

// changesOfForm are changes of documents after which objects are stored in another form.
// Filled-in values contain the word.
var changesOfForm = []struct {
	name   string
	word   string
	change func(*documents)
	old    int // how many of olderObjects would be stored differently
}{
	{"a default", "calm", func(d *documents) {
		d.add("core/v1.ConfigMap", schema.Field{Name: "mood", Number: 90, Default: `"calm"`}, textType)
	}, 1},
	{"a default that can be selected by", "calm", func(d *documents) {
		d.add("core/v1.ConfigMap", schema.Field{Name: "mood", Number: 90, Default: `"calm"`}, textType)
		row := d.row("v1", "configmaps")
		row.Selectable = append(row.Selectable, api.Selectable{Name: "mood", Path: []string{"mood"}})
	}, 1},
	{"a default in elements and templates", "calm", func(d *documents) {
		d.add("core/v1.Container", schema.Field{Name: "mood", Number: 90, Default: `"calm"`}, textType)
	}, 3},
	{"a default in objects that may be there", "calm", func(d *documents) {
		d.add("core/v1.Probe", schema.Field{Name: "mood", Number: 90, Presence: schema.Explicit, Default: `"calm"`}, textType)
	}, 2},
	{"a default object with defaults", "calm", func(d *documents) {
		d.add("core/v1.PodSpec", schema.Field{Name: "moods", Number: 90, Presence: schema.Explicit, Default: "{}"},
			textType, schema.Type{Kind: schema.Object, Fields: []schema.Field{{Name: "now", Type: 0, Number: 1, Default: `"calm"`}}})
	}, 3},
	{"a field that is always written", "mood", func(d *documents) {
		d.add("core/v1.ConfigMap", schema.Field{Name: "mood", Presence: schema.Always}, textType)
	}, 1},
	{"a default hook", "calm", func(d *documents) {
		d.add("core/v1.ConfigMap", schema.Field{Name: "mood", Number: 90}, textType)
		d.hook("core/v1.ConfigMap", func(v document.Value) {
			if !v.Get("mood").Exists() {
				v.SetString("mood", fmt.Sprint("calm ", v.Get("data").Len()))
			}
		})
	}, 1},
	{"a default of the stored version", "calm", func(d *documents) {
		d.add("autoscaling/v2.HorizontalPodAutoscalerSpec", schema.Field{Name: "mood", Number: 90, Default: `"calm"`}, textType)
	}, 1},
	{"a default of the version that is written", "calm", func(d *documents) {
		d.add("autoscaling/v1.HorizontalPodAutoscalerSpec", schema.Field{Name: "mood", Number: 90, Default: `"calm"`}, textType)
	}, 0},
	{"a field that is gone", "web", func(d *documents) {
		d.each("core/v1.PodSpec", func(_ *api.GroupVersion, t *schema.Type) {
			t.Fields = append(t.Fields[:t.Field("volumes")], t.Fields[t.Field("volumes")+1:]...)
		})
	}, 1},
	{"another order", "web", func(d *documents) {
		d.each("apps/v1.DeploymentSpec", func(_ *api.GroupVersion, t *schema.Type) {
			i, j := t.Field("template"), t.Field("selector")
			t.Fields[i], t.Fields[j] = t.Fields[j], t.Fields[i]
		})
	}, 1},
}

// Objects that were stored under other documents are shown, in every kind of read, like
// those stored today; a migration rewrites these and only these, and then reads need no
// conversion.
func TestObjectsOfOtherDocuments(t *testing.T) {
	disk, now := vfs.NewCrashableMem(), time.Now()
	onDisk := func(fs vfs.FS, changes ...func(*documents)) func(*server.Config) {
		return func(c *server.Config) {
			c.InMemory, c.DataDir, c.FS, c.Clock = false, "data", fs, func() time.Time { return now } // so that ages are equal
			serve(c, changes...)
		}
	}
	var since string
	var revisions []any
	t.Run("before", func(t *testing.T) {
		h := harness.Start(t, onDisk(disk))
		since = h.Get(harness.ConfigMaps).Field(t, "metadata.resourceVersion").(string)
		fillStore(h, "older-ns")
		for _, o := range olderObjects {
			revisions = append(revisions, h.Get(fmt.Sprintf(o.collection, "older-ns")+"/web").Field(t, "metadata.resourceVersion"))
		}
	})
	for _, test := range changesOfForm {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			fs := disk.CrashClone(vfs.CrashCloneCfg{})
			h := harness.Start(t, onDisk(fs, test.change))
			now := h.Get(harness.ConfigMaps).Field(t, "metadata.resourceVersion").(string)
			fillStore(h, "today-ns")
			older, today := reads(h, "older-ns", since, test.word), reads(h, "today-ns", now, test.word)
			if len(older) < 80 {
				t.Errorf("only %d reads", len(older))
			}
			for path, want := range today {
				if got := older[path]; got != want {
					t.Errorf("%s:\n %.3000s, made today:\n %.3000s", path, got, want)
				}
			}
			for i, o := range olderObjects {
				if got := h.Get(fmt.Sprintf(o.collection, "older-ns")+"/web").Field(t, "metadata.resourceVersion"); got != revisions[i] {
					t.Errorf("%s is at %v and was at %v", o.key, got, revisions[i])
				}
			}
			if h.Running.ShowsOld() != (test.old > 0) {
				t.Fatalf("the store says that it has old objects: %v", h.Running.ShowsOld())
			}
			if test.old > 0 {
				if last := harness.Migrated(t, h.Running.Migrate); int(last.Rewritten) != test.old || last.Failed != 0 {
					t.Errorf("the migration: %+v, want %d rewritten", last, test.old)
				}
			}
			if h.Running.ShowsOld() {
				t.Error("after the migration something is still in the way")
			}
			for _, o := range olderObjects {
				var texts []string
				for _, ns := range []string{"older-ns", "today-ns"} {
					body, err := h.Running.StoredBody(t.Context(), fmt.Sprintf(o.key, ns))
					if err != nil {
						t.Fatal(err)
					}
					texts = append(texts, anonymous(t, body, ns))
				}
				if texts[0] != texts[1] {
					t.Errorf("%s is stored as %s\nand made today as %s", o.key, texts[0], texts[1])
				}
			}
			for path, got := range reads(h, "older-ns", since, test.word) {
				if !strings.Contains(path, "SINCE") && got != today[path] {
					t.Errorf("after the migration %s:\n %.3000s, made today:\n %.3000s", path, got, today[path])
				}
			}
		})
	}
}
