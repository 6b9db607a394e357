package server_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
)

const pods = "/api/v1/namespaces/default/pods"

func podOn(name, node, labels string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}},"spec":{"nodeName":%q,"containers":[{"name":"c","image":"i"}]}}`, name, labels, node)
}

func (r reply) names(t *testing.T) string {
	t.Helper()
	var names []string
	items, _ := r.field(t, "items").([]any)
	for _, item := range items {
		meta := item.(map[string]any)["metadata"].(map[string]any)
		names = append(names, fmt.Sprint(meta["namespace"], "/", meta["name"]))
	}
	return strings.Join(names, " ")
}

// TestSelectorListsSeeAcknowledgedWrites: an acknowledged write is in the next list,
// while others write.
func TestSelectorListsSeeAcknowledgedWrites(t *testing.T) {
	h := startServer(t, nil)
	for w := range 4 {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			h := &harness{t: t, server: h.server, client: h.client}
			name := fmt.Sprintf("turning-%d", w)
			h.post(pods, podOn(name, "", `"turn":"none"`)).expect(t, 201, "")
			for turn := range 250 {
				if turn%5 == 4 { // an object is created and deleted
					node := fmt.Sprintf("node-%d-%d", w, turn)
					other := fmt.Sprintf("passing-%d-%d", w, turn)
					h.post(pods, podOn(other, node, "")).expect(t, 201, "")
					if got := h.get(pods + "?fieldSelector=spec.nodeName%3D" + node).names(t); got != "default/"+other {
						t.Fatalf("turn %d: listed %q after %s was created", turn, got, other)
					}
					h.send("DELETE", pods+"/"+other+"?gracePeriodSeconds=0", "", nil).expect(t, 200, "")
					if got := h.get(pods + "?fieldSelector=spec.nodeName%3D" + node).names(t); got != "" {
						t.Fatalf("turn %d: listed %q after it was deleted", turn, got)
					}
					continue
				}
				label := fmt.Sprintf("%d-%d", w, turn)
				h.send("PATCH", pods+"/"+name, "application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"turn":%q}}}`, label)).expect(t, 200, "")
				if got := h.get(pods + "?labelSelector=turn%3D" + label).names(t); got != "default/"+name {
					t.Fatalf("turn %d: listed %q after %s was labeled", turn, got, name)
				}
			}
		})
	}
}

// TestSelectorListsAgree: lists by the header index agree with scans, page by page. A
// list at an exact revision is always a scan.
func TestSelectorListsAgree(t *testing.T) {
	h := startServer(t, nil)
	h.post("/api/v1/namespaces", `{"metadata":{"name":"other"}}`).expect(t, 201, "")
	for i := range 40 {
		body := podOn(fmt.Sprintf("p-%02d", i), fmt.Sprintf("node-%d", i%3), fmt.Sprintf(`"shard":"s%d"`, i%10))
		h.post(strings.Replace(pods, "default", []string{"default", "other"}[i%2], 1), body).expect(t, 201, "")
	}
	if r := h.get(pods + "?labelSelector=shard%3Ds2"); r.names(t) != "default/p-02 default/p-12 default/p-22 default/p-32" {
		t.Errorf("listed %s", r.names(t))
	}
	if !h.server.Indexed("core/pods/") {
		t.Error("a list with a selector did not bring the headers into the index")
	}
	for _, collection := range []string{pods, "/api/v1/pods", "/api/v1/namespaces/nosuch/pods"} {
		for _, selector := range []string{"labelSelector=shard%3Ds2", "labelSelector=shard%21%3Ds2", "labelSelector=none", "labelSelector=shard",
			"fieldSelector=spec.nodeName%3Dnode-1", "fieldSelector=metadata.namespace%3Dother,metadata.name!%3Dp-11",
			"fieldSelector=metadata.name%3Dp-12", "fieldSelector=spec.nodeName%3Dnode-1&labelSelector=shard+in+(s1,s7)"} {
			for _, limit := range []string{"", "&limit=1", "&limit=3", "&limit=1000"} {
				query := collection + "?" + selector + limit
				indexed := h.get(query)
				indexed.expect(t, 200, "")
				version := indexed.field(t, "metadata.resourceVersion").(string)
				scanned := h.get(query + "&resourceVersionMatch=Exact&resourceVersion=" + version)
				if !bytes.Equal(indexed.body, scanned.body) {
					t.Errorf("%s answers\n%s\na scan\n%s", query, indexed.body, scanned.body)
				}
				whole := h.get(collection + "?" + selector).names(t)
				names := indexed.names(t)
				for page := indexed; ; {
					token, _ := page.field(t, "metadata.continue").(string)
					if token == "" {
						break
					}
					page = h.get(query + "&continue=" + token)
					names = strings.TrimSpace(names + " " + page.names(t)) // the last one may be empty
				}
				if names != whole {
					t.Errorf("%s in pages gives %s, at once %s", query, names, whole)
				}
			}
		}
	}
	for query, more := range map[string]bool{"labelSelector=shard%3Ds2&limit=4": true, "labelSelector=shard%3Ds2&limit=5": false,
		"fieldSelector=metadata.name%3Dp-12&limit=1": false, "labelSelector=shard+in+(s8)&limit=4": false} { // p-38 is the last one of all
		page := h.get(pods + "?" + query)
		if token, _ := page.field(t, "metadata.continue").(string); (token != "") != more {
			t.Errorf("%s: continues with %q, want more: %v", query, token, more)
		}
	}
	h.send("DELETE", pods+"?labelSelector=shard%3Ds2&gracePeriodSeconds=0", "", nil).expect(t, 200, "")
	if names := h.get("/api/v1/pods?labelSelector=shard+in+(s1,s2)").names(t); names != "other/p-01 other/p-11 other/p-21 other/p-31" {
		t.Errorf("after deleting by label the rest is %s", names)
	}
}

// A short list, that of one object by its name above all, is sent with its length; a long
// one is sent while it is read.
func TestShortListHasLength(t *testing.T) {
	h := startServer(t, nil)
	for i := range 20 {
		h.post(configMaps, configMap(fmt.Sprint("m-", i), fmt.Sprintf(`{"k":%q}`, strings.Repeat("x", 8000))))
	}
	h.client.Transport.(*http.Transport).DisableCompression = true
	for _, accept := range []string{"application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"} {
		for query, known := range map[string]bool{"?fieldSelector=metadata.name%3Dm-7": true, "?limit=2": true, "?includeObject=Object": false} {
			r := h.send(http.MethodGet, configMaps+query, "", nil, "Accept", accept)
			length := r.header.Get("Content-Length")
			if r.code != http.StatusOK || known && length != strconv.Itoa(len(r.body)) || !known && length != "" {
				t.Errorf("%s as %s: %d, %d bytes, announced are %q", query, accept, r.code, len(r.body), length)
			}
		}
	}
}
