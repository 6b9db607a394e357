package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
)

// What a gate says is what clients see.
func TestFeaturesThatAreOff(t *testing.T) {
	const list, openapi = configMaps + "?limit=1", "/openapi/v3"
	for _, on := range []bool{true, false} {
		t.Run(fmt.Sprint(on), func(t *testing.T) {
			h := startServer(t, func(c *server.Config) {
				for _, gate := range []string{"RemainingItemCount", "ServerSideFieldValidation", "OpenAPIV3", "StorageVersionHash", "APIResponseCompression"} {
					c.FeatureGates = append(c.FeatureGates, fmt.Sprintf("%s=%v", gate, on))
				}
			})
			for i := range 3 {
				h.post(configMaps, configMap(fmt.Sprint("a", i), `{"x":"`+strings.Repeat("x", 100<<10)+`"}`))
			}
			page := h.get(list)
			if page.field(t, "metadata.continue") == nil || (page.field(t, "metadata.remainingItemCount") != nil) != on {
				t.Errorf("%.300s", page.body)
			}
			bad := []byte(`{"metadata":{"generateName":"b-"},"wrong":1}`)
			warned := h.send("POST", configMaps, "application/json", bad)
			if warned.code != http.StatusCreated || (len(warned.header.Values("Warning")) == 1) != on {
				t.Errorf("%d %q", warned.code, warned.header)
			}
			strict := h.send("POST", configMaps+"?fieldValidation=Strict", "application/json", bad)
			if (strict.code == http.StatusBadRequest) != on {
				t.Errorf("%d %s", strict.code, strict.body)
			}
			if got := h.get(openapi); (got.code == http.StatusOK) != on {
				t.Errorf("%s: %d", openapi, got.code)
			}
			if got := h.get("/api/v1"); bytes.Contains(got.body, []byte("storageVersionHash")) != on {
				t.Errorf("%.300s", got.body)
			}
			if got := h.send("GET", configMaps, "", nil, "Accept-Encoding", "gzip"); (got.header.Get("Content-Encoding") == "gzip") != on {
				t.Errorf("%q", got.header)
			}
			want := map[bool]string{true: "1", false: "0"}[on]
			if got := h.figures()[`kubernetes_feature_enabled{name="OpenAPIV3",stage="BETA"`]; got != want {
				t.Errorf("the figure is %q, want %s", got, want)
			}
		})
	}
}

// Without chunks a list is whole, whatever was asked for.
func TestListsWithoutChunks(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.FeatureGates = []string{"APIListChunking=false"} })
	h.post(configMaps, configMap("a", "{}"))
	h.post(configMaps, configMap("b", "{}"))
	for _, query := range []string{"?limit=1", "?limit=1&continue=anything", "?limit=1&labelSelector=!x"} {
		got := h.get(configMaps + query)
		if got.code != http.StatusOK || got.field(t, "metadata.continue") != nil || got.field(t, "items.1") == nil {
			t.Errorf("%s: %d %.300s", query, got.code, got.body)
		}
	}
}
