package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capstan-dev/capstan/server"
)

// TestWatchTables reads events as rows of tables.
func TestWatchTables(t *testing.T) {
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", `{"k":"v"}`))
	for _, version := range []string{"v1", "v1beta1"} {
		s := h.watch(configMaps+"?watch=1&allowWatchBookmarks=true", "Accept", "application/json;as=Table;g=meta.k8s.io;v="+version)
		h.patch(configMaps+"/a", `{"data":{"more":"`+version+`"}}`)
		for i, want := range []string{"ADDED", "MODIFIED"} {
			e := s.next()
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
	h := startServer(t, nil)
	h.create(configMaps, configMap("a", `{"k":"v"}`))
	s := h.watch(configMaps+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	for _, want := range []string{"ADDED", "BOOKMARK"} {
		e := s.next()
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
	h := startServer(t, nil)
	h.create(configMaps, `{"metadata":{"name":"a","labels":{"app":"web"}},"data":{"k":"sesame"}}`)
	s := h.watch(configMaps+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", "Accept", "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1")
	for _, want := range []string{"ADDED a", "BOOKMARK "} {
		e := s.expect(want)
		if e.meta.Kind != "PartialObjectMetadata" || e.meta.APIVersion != "meta.k8s.io/v1" || bytes.Contains(e.Object, []byte("sesame")) {
			t.Errorf("%s %s", e.Type, e.Object)
		}
	}
	h.delete(configMaps + "/a")
	if e := s.expect("DELETED a"); e.meta.Metadata.Labels["app"] != "web" || e.meta.Kind != "PartialObjectMetadata" {
		t.Errorf("%s", e.Object)
	}
}

const binaryMedia = "application/vnd.kubernetes.protobuf"

// TestWatchBinary reads frames of the binary form. Every kind has its metadata in the
// position of PartialObjectMetadata, which reads them all.
func TestWatchBinary(t *testing.T) {
	h := startServer(t, nil).http2()
	h.create(configMaps, configMap("a", `{"k":"v"}`))
	for _, test := range []struct{ accept, kind, apiVersion string }{
		{binaryMedia, "ConfigMap", "v1"},
		{binaryMedia + ";stream=watch", "ConfigMap", "v1"},
		{binaryMedia + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "PartialObjectMetadata", "meta.k8s.io/v1"},
	} {
		s := h.watch(configMaps+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", "Accept", test.accept)
		if got := s.resp.Header.Get("Content-Type"); got != binaryMedia+";stream=watch" {
			t.Errorf("%s is answered as %q", test.accept, got)
		}
		h.patch(configMaps+"/a", `{"data":{"now":"`+test.accept+`"}}`)
		for _, want := range []struct{ event, name string }{{"ADDED", "a"}, {"BOOKMARK", ""}, {"MODIFIED", "a"}} {
			event, object := s.frame()
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
	c := &clock{start: time.Now()}
	h := startServer(t, func(cfg *server.Config) { cfg.History, cfg.Clock = time.Second, c.now })
	old := h.create(configMaps, configMap("a", "{}")).field(t, "metadata.resourceVersion").(string)
	h.trimmed(c, old)
	s := h.watch(configMaps+"?watch=1&resourceVersion="+old, "Accept", binaryMedia)
	event, object := s.frame()
	var status metav1.Status
	if err := status.Unmarshal(object.Raw); err != nil {
		t.Fatal(err)
	}
	if event != "ERROR" || object.Kind != "Status" || status.Code != 410 || status.Reason != metav1.StatusReasonExpired {
		t.Errorf("%s %s %+v", event, object.Kind, status)
	}
	if rest, err := io.ReadAll(s.resp.Body); err != nil || len(rest) > 0 {
		t.Errorf("%d bytes follow, error %v", len(rest), err)
	}
}
