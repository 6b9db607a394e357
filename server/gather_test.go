package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

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
