package verbs_test

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
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A list that is too large to be gathered is the same list, byte by byte in the binary
// form, and not indented in the others.
func TestListsWithoutRoom(t *testing.T) {
	large := strings.Repeat("x", 3000)
	fill := func(h *harness.Server) {
		for i := range 120 {
			h.Post(harness.ConfigMaps, harness.ConfigMap(fmt.Sprintf("m-%03d", i), fmt.Sprintf(`{"k":%q}`, large)))
		}
	}
	start := func(room int64) *harness.Server {
		return harness.Start(t, func(c *server.Config) { c.ListMemoryBytes = room })
	}
	const media = "application/vnd.kubernetes.protobuf"
	for _, room := range []int64{1, 200 << 10} { // for no buffer, and for two
		h := start(room)
		fill(h)
		h.HTTP.Transport.(*http.Transport).DisableCompression = true
		list := func(path string, header ...string) harness.Reply {
			r := h.Send(http.MethodGet, path, "", nil, header...)
			if r.Code != http.StatusOK {
				t.Fatalf("%d %s", r.Code, r.Body)
			}
			return r
		}
		small := list(harness.ConfigMaps+"?fieldSelector=metadata.name%3Dm-007", "Accept", media)
		item := small.Body[bytes.Index(small.Body, []byte("m-007"))-8:]
		whole := list(harness.ConfigMaps, "Accept", media)
		if whole.Header.Get("Content-Type") != media || !bytes.HasPrefix(whole.Body, []byte("k8s\x00")) || !bytes.Contains(whole.Body, item[:len(item)-8]) {
			t.Errorf("room %d: the binary list is wrong: %v, %d bytes", room, whole.Header, len(whole.Body))
		}
		if n := bytes.Count(whole.Body, []byte(large)); n != 120 {
			t.Errorf("room %d: %d items in the binary list", room, n)
		}
		// A list of one page needs no second reading: its pages hold the same items.
		gathered := list(harness.ConfigMaps+"?limit=10", "Accept", media)
		if !bytes.Contains(gathered.Body, []byte("m-009")) || bytes.Contains(gathered.Body, []byte("m-010\x12")) {
			t.Errorf("room %d: the page is wrong", room)
		}
		zipped := list(harness.ConfigMaps, "Accept", media, "Accept-Encoding", "gzip")
		if zipped.Header.Get("Content-Encoding") != "gzip" || len(zipped.Body) > len(whole.Body)/4 {
			t.Errorf("room %d: %v, %d bytes", room, zipped.Header, len(zipped.Body))
		}
		yaml := list(harness.ConfigMaps, "Accept", "application/yaml")
		if yaml.Header.Get("Content-Type") != "application/yaml" || bytes.Count(yaml.Body, []byte(large)) != 120 || yaml.Body[0] != '{' {
			t.Errorf("room %d: YAML: %v, %.80s", room, yaml.Header, yaml.Body)
		}
		pretty := list(harness.ConfigMaps + "?pretty=true")
		if n := len(pretty.Field(t, "items").([]any)); n != 120 {
			t.Errorf("room %d: %d items in the list that could not be indented", room, n)
		}
	}
}

// TestListsOfKnownSize: a binary list whose sizes are known from earlier answers has the
// items of the same list as JSON, whatever was written since and whichever part it shows.
func TestListsOfKnownSize(t *testing.T) {
	for _, kept := range []int64{1, 64 << 20} { // for no object, and for all
		h := harness.Start(t, func(c *server.Config) { c.BinaryCacheBytes = kept << 10 })
		large := strings.Repeat("x", 3000)
		for i := range 120 {
			h.Post(harness.ConfigMaps, fmt.Sprintf(`{"metadata":{"name":"m-%03d","labels":{"half":"h%d"}},"data":{"k":%q}}`, i, i%2, large))
		}
		old := h.Get(harness.ConfigMaps+"/m-119").Field(t, "metadata.resourceVersion").(string)
		check := func(query string) {
			t.Helper()
			var want []string
			for _, item := range h.Get(harness.ConfigMaps+query).Field(t, "items").([]any) {
				meta := item.(map[string]any)["metadata"].(map[string]any)
				want = append(want, fmt.Sprint(meta["name"], "@", meta["resourceVersion"]))
			}
			for range 2 {
				answer := h.Send(http.MethodGet, harness.ConfigMaps+query, "", nil, "Accept", harness.BinaryMedia)
				var object runtime.Unknown
				var list metav1.PartialObjectMetadataList
				if err := object.Unmarshal(answer.Body[len("k8s\x00"):]); err != nil {
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
			h.MergePatch(harness.ConfigMaps+"/m-007", `{"data":{"other":"`+large+`"}}`)
			h.Delete(harness.ConfigMaps + gone)
		}
		if rest := h.Get(harness.ConfigMaps+"?limit=30").Field(t, "metadata.continue").(string); rest != "" {
			check("?continue=" + rest)
		}
	}
}

func TestListsWithRoom(t *testing.T) {
	h := harness.Start(t, nil)
	h.Post(harness.ConfigMaps, harness.ConfigMap("a", `{"k":"v"}`))
	if yaml := h.Send(http.MethodGet, harness.ConfigMaps, "", nil, "Accept", "application/yaml"); !strings.HasPrefix(string(yaml.Body), "apiVersion: v1\n") {
		t.Errorf("YAML: %s", yaml.Body)
	}
	if pretty := h.Get(harness.ConfigMaps + "?pretty=true"); !strings.Contains(string(pretty.Body), "\n  \"apiVersion\"") {
		t.Errorf("indented: %s", pretty.Body)
	}
}
