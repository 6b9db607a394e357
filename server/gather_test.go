package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/capstan-dev/capstan/server"
)

// A list that is too large to be gathered is the same list, byte by byte in the binary
// form, and not indented in the others.
func TestListsWithoutRoom(t *testing.T) {
	large := strings.Repeat("x", 3000)
	fill := func(h *harness) {
		for i := range 120 {
			h.post(configMaps, configMap(fmt.Sprintf("m-%03d", i), fmt.Sprintf(`{"k":%q}`, large)))
		}
	}
	start := func(room int64) *harness {
		return startServer(t, func(c *server.Config) { c.ListMemoryBytes = room })
	}
	const media = "application/vnd.kubernetes.protobuf"
	for _, room := range []int64{1, 200 << 10} { // for no buffer, and for two
		h := start(room)
		fill(h)
		h.client.Transport.(*http.Transport).DisableCompression = true
		list := func(path string, header ...string) reply {
			r := h.send(http.MethodGet, path, "", nil, header...)
			if r.code != http.StatusOK {
				t.Fatalf("%d %s", r.code, r.body)
			}
			return r
		}
		small := list(configMaps+"?fieldSelector=metadata.name%3Dm-007", "Accept", media)
		item := small.body[bytes.Index(small.body, []byte("m-007"))-8:]
		whole := list(configMaps, "Accept", media)
		if whole.header.Get("Content-Type") != media || !bytes.HasPrefix(whole.body, []byte("k8s\x00")) || !bytes.Contains(whole.body, item[:len(item)-8]) {
			t.Errorf("room %d: the binary list is wrong: %v, %d bytes", room, whole.header, len(whole.body))
		}
		if n := bytes.Count(whole.body, []byte(large)); n != 120 {
			t.Errorf("room %d: %d items in the binary list", room, n)
		}
		// A list of one page needs no second reading: its pages hold the same items.
		gathered := list(configMaps+"?limit=10", "Accept", media)
		if !bytes.Contains(gathered.body, []byte("m-009")) || bytes.Contains(gathered.body, []byte("m-010\x12")) {
			t.Errorf("room %d: the page is wrong", room)
		}
		zipped := list(configMaps, "Accept", media, "Accept-Encoding", "gzip")
		if zipped.header.Get("Content-Encoding") != "gzip" || len(zipped.body) > len(whole.body)/4 {
			t.Errorf("room %d: %v, %d bytes", room, zipped.header, len(zipped.body))
		}
		yaml := list(configMaps, "Accept", "application/yaml")
		if yaml.header.Get("Content-Type") != "application/yaml" || bytes.Count(yaml.body, []byte(large)) != 120 || yaml.body[0] != '{' {
			t.Errorf("room %d: YAML: %v, %.80s", room, yaml.header, yaml.body)
		}
		pretty := list(configMaps + "?pretty=true")
		if n := len(pretty.field(t, "items").([]any)); n != 120 {
			t.Errorf("room %d: %d items in the list that could not be indented", room, n)
		}
	}
}

// TestListsOfKnownSize: a binary list whose sizes are known from earlier answers has the
// items of the same list as JSON, whatever was written since and whichever part it shows.
func TestListsOfKnownSize(t *testing.T) {
	for _, kept := range []int64{1, 64 << 20} { // for no object, and for all
		h := startServer(t, func(c *server.Config) { c.BinaryCacheBytes = kept << 10 })
		large := strings.Repeat("x", 3000)
		for i := range 120 {
			h.post(configMaps, fmt.Sprintf(`{"metadata":{"name":"m-%03d","labels":{"half":"h%d"}},"data":{"k":%q}}`, i, i%2, large))
		}
		old := h.get(configMaps+"/m-119").field(t, "metadata.resourceVersion").(string)
		check := func(query string) {
			t.Helper()
			var want []string
			for _, item := range h.get(configMaps+query).field(t, "items").([]any) {
				meta := item.(map[string]any)["metadata"].(map[string]any)
				want = append(want, fmt.Sprint(meta["name"], "@", meta["resourceVersion"]))
			}
			for range 2 {
				answer := h.send(http.MethodGet, configMaps+query, "", nil, "Accept", binaryMedia)
				var object runtime.Unknown
				var list metav1.PartialObjectMetadataList
				if err := object.Unmarshal(answer.body[len("k8s\x00"):]); err != nil {
					t.Fatalf("%s: %v", query, err)
				}
				if err := list.Unmarshal(object.Raw); err != nil {
					t.Fatalf("%s: %v", query, err)
				}
				var got []string
				for _, item := range list.Items {
					got = append(got, item.Name+"@"+item.ResourceVersion)
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: got %q, want %q", query, got, want)
				}
			}
		}
		for _, gone := range []string{"/m-050", "/m-051"} {
			for _, query := range []string{"", "?labelSelector=half%3Dh1", "?limit=50", "?resourceVersionMatch=Exact&resourceVersion=" + old} {
				check(query)
			}
			h.patch(configMaps+"/m-007", `{"data":{"other":"`+large+`"}}`)
			h.delete(configMaps + gone)
		}
		if rest := h.get(configMaps+"?limit=30").field(t, "metadata.continue").(string); rest != "" {
			check("?continue=" + rest)
		}
	}
}

func TestListsWithRoom(t *testing.T) {
	h := startServer(t, nil)
	h.post(configMaps, configMap("a", `{"k":"v"}`))
	if yaml := h.send(http.MethodGet, configMaps, "", nil, "Accept", "application/yaml"); !strings.HasPrefix(string(yaml.body), "apiVersion: v1\n") {
		t.Errorf("YAML: %s", yaml.body)
	}
	if pretty := h.get(configMaps + "?pretty=true"); !strings.Contains(string(pretty.body), "\n  \"apiVersion\"") {
		t.Errorf("indented: %s", pretty.body)
	}
}
