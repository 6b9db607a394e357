package verbs_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestWatchTables reads events as rows of tables.
func TestWatchTables(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", `{"k":"v"}`))
	for _, version := range []string{"v1", "v1beta1"} {
		s := h.Watch(harness.ConfigMaps+"?watch=1&allowWatchBookmarks=true", "Accept", "application/json;as=Table;g=meta.k8s.io;v="+version)
		h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"more":"`+version+`"}}`)
		for i, want := range []string{"ADDED", "MODIFIED"} {
			e := s.Next()
			var table metav1.Table
			if err := json.Unmarshal(e.Object, &table); err != nil {
				t.Fatal(err)
			}
			if e.Type != want || table.Kind != "Table" || table.APIVersion != "meta.k8s.io/"+version || len(table.Rows) != 1 || table.ResourceVersion == "" {
				t.Fatalf("%s %s", e.Type, e.Object)
			}
			if i == 0 && (len(table.ColumnDefinitions) != 3 || table.ColumnDefinitions[0].Name != "Name") {
				t.Errorf("columns %+v", table.ColumnDefinitions)
			}
			row := table.Rows[0]
			var object metav1.PartialObjectMetadata
			if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
				t.Fatal(err)
			}
			if len(row.Cells) != 3 || row.Cells[0] != "a" || object.Kind != "PartialObjectMetadata" || object.Name != "a" || object.ResourceVersion != table.ResourceVersion {
				t.Errorf("the row is %+v with %+v", row.Cells, object)
			}
		}
	}
}

// TestWatchTableBookmark: the bookmark after the initial events is a row, too.
func TestWatchTableBookmark(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", `{"k":"v"}`))
	s := h.Watch(harness.ConfigMaps+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	for _, want := range []string{"ADDED", "BOOKMARK"} {
		e := s.Next()
		var table metav1.Table
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(e.Object, &table); err != nil || e.Type != want || len(table.Rows) != 1 {
			t.Fatalf("%s %s: %v", e.Type, e.Object, err)
		}
		if err := json.Unmarshal(table.Rows[0].Object.Raw, &object); err != nil || (object.Annotations["k8s.io/initial-events-end"] == "true") != (want == "BOOKMARK") {
			t.Errorf("%s %s: %v", e.Type, e.Object, err)
		}
	}
}

// TestWatchMetadata reads events that hold metadata only.
func TestWatchMetadata(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.ConfigMaps, `{"metadata":{"name":"a","labels":{"app":"web"}},"data":{"k":"sesame"}}`)
	s := h.Watch(harness.ConfigMaps+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", "Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	for _, want := range []string{"ADDED a", "BOOKMARK "} {
		e := s.Expect(want)
		if e.Meta.Kind != "PartialObjectMetadata" || e.Meta.APIVersion != "meta.k8s.io/v1" || bytes.Contains(e.Object, []byte("sesame")) {
			t.Errorf("%s %s", e.Type, e.Object)
		}
	}
	h.Delete(harness.ConfigMaps + "/a")
	if e := s.Expect("DELETED a"); e.Meta.Metadata.Labels["app"] != "web" || e.Meta.Kind != "PartialObjectMetadata" {
		t.Errorf("%s", e.Object)
	}
}

// TestWatchBinary reads frames of the binary form. Every kind has its metadata in the
// position of PartialObjectMetadata, which reads them all.
func TestWatchBinary(t *testing.T) {
	h := harness.Start(t, nil).HTTP2()
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", `{"k":"v"}`))
	for _, test := range []struct{ accept, kind, apiVersion string }{
		{harness.BinaryMedia, "ConfigMap", "v1"},
		{harness.BinaryMedia + ";stream=watch", "ConfigMap", "v1"},
		{harness.BinaryMedia + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "PartialObjectMetadata", "meta.k8s.io/v1"},
	} {
		s := h.Watch(harness.ConfigMaps+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", "Accept", test.accept)
		if got := s.Resp.Header.Get("Content-Type"); got != harness.BinaryMedia+";stream=watch" {
			t.Errorf("%s is answered as %q", test.accept, got)
		}
		h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"now":"`+test.accept+`"}}`)
		for _, want := range []struct{ event, name string }{{"ADDED", "a"}, {"BOOKMARK", ""}, {"MODIFIED", "a"}} {
			event, object := s.Frame()
			var meta metav1.PartialObjectMetadata
			if err := meta.Unmarshal(object.Raw); err != nil {
				t.Fatal(err)
			}
			if event != want.event || object.Kind != test.kind || object.APIVersion != test.apiVersion || meta.Name != want.name || meta.ResourceVersion == "" {
				t.Errorf("%s: %s %s %s %+v", test.accept, event, object.APIVersion, object.Kind, meta.ObjectMeta)
			}
		}
	}
}

// TestWatchBinaryError: the event that ends a stream is binary too.
func TestWatchBinaryError(t *testing.T) {
	c := &harness.Clock{Start: time.Now()}
	h := harness.Start(t, func(cfg *server.Config) { cfg.History, cfg.Clock = time.Second, c.Now })
	old := h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}")).Field(t, "metadata.resourceVersion").(string)
	trimmed(h, c, old)
	s := h.Watch(harness.ConfigMaps+"?watch=1&resourceVersion="+old, "Accept", harness.BinaryMedia)
	event, object := s.Frame()
	var status metav1.Status
	if err := status.Unmarshal(object.Raw); err != nil {
		t.Fatal(err)
	}
	if event != "ERROR" || object.Kind != "Status" || status.Code != 410 || status.Reason != metav1.StatusReasonExpired {
		t.Errorf("%s %s %+v", event, object.Kind, status)
	}
	if rest, err := io.ReadAll(s.Resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("%d bytes follow, error %v", len(rest), err)
	}
}
