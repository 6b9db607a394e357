package verbs_test

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const pods = "/api/v1/namespaces/default/pods"

func podOn(name, node, labels string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}},"spec":{"nodeName":%q,"containers":[{"name":"c","image":"i"}]}}`, name, labels, node)
}

// TestSelectorListsSeeAcknowledgedWrites: an acknowledged write is in the next list,
// while others write.
func TestSelectorListsSeeAcknowledgedWrites(t *testing.T) {
	h := harness.Start(t, nil)
	for w := range 4 {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			t.Parallel()
			h := &harness.Server{T: t, Running: h.Running, HTTP: h.HTTP}
			name := fmt.Sprintf("turning-%d", w)
			h.Post(pods, podOn(name, "", `"turn":"none"`)).Expect(t, 201, "")
			for turn := range 250 {
				if turn%5 == 4 { // an object is created and deleted
					node := fmt.Sprintf("node-%d-%d", w, turn)
					other := fmt.Sprintf("passing-%d-%d", w, turn)
					h.Post(pods, podOn(other, node, "")).Expect(t, 201, "")
					if got := h.Get(pods + "?fieldSelector=spec.nodeName%3D" + node).Names(t); got != "default/"+other {
						t.Fatalf("turn %d: listed %q after %s was created", turn, got, other)
					}
					h.Send("DELETE", pods+"/"+other+"?gracePeriodSeconds=0", "", nil).Expect(t, 200, "")
					if got := h.Get(pods + "?fieldSelector=spec.nodeName%3D" + node).Names(t); got != "" {
						t.Fatalf("turn %d: listed %q after it was deleted", turn, got)
					}
					continue
				}
				label := fmt.Sprintf("%d-%d", w, turn)
				h.Send("PATCH", pods+"/"+name, "application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"labels":{"turn":%q}}}`, label)).Expect(t, 200, "")
				if got := h.Get(pods + "?labelSelector=turn%3D" + label).Names(t); got != "default/"+name {
					t.Fatalf("turn %d: listed %q after %s was labeled", turn, got, name)
				}
			}
		})
	}
}

// TestSelectorListsAgree: lists by the header index agree with scans, page by page. A
// list at an exact revision is always a scan.
func TestSelectorListsAgree(t *testing.T) {
	h := harness.Start(t, nil)
	h.Post("/api/v1/namespaces", `{"metadata":{"name":"other"}}`).Expect(t, 201, "")
	for i := range 40 {
		body := podOn(fmt.Sprintf("p-%02d", i), fmt.Sprintf("node-%d", i%3), fmt.Sprintf(`"shard":"s%d"`, i%10))
		h.Post(strings.Replace(pods, "default", []string{"default", "other"}[i%2], 1), body).Expect(t, 201, "")
	}
	if r := h.Get(pods + "?labelSelector=shard%3Ds2"); r.Names(t) != "default/p-02 default/p-12 default/p-22 default/p-32" {
		t.Errorf("listed %s", r.Names(t))
	}
	if !h.Running.Indexed("core/pods/") {
		t.Error("a list with a selector did not bring the headers into the index")
	}
	for _, collection := range []string{pods, "/api/v1/pods", "/api/v1/namespaces/nosuch/pods"} {
		for _, selector := range []string{"labelSelector=shard%3Ds2", "labelSelector=shard%21%3Ds2", "labelSelector=none", "labelSelector=shard",
			"fieldSelector=spec.nodeName%3Dnode-1", "fieldSelector=metadata.namespace%3Dother,metadata.name!%3Dp-11",
			"fieldSelector=metadata.name%3Dp-12", "fieldSelector=spec.nodeName%3Dnode-1&labelSelector=shard+in+(s1,s7)"} {
			for _, limit := range []string{"", "&limit=1", "&limit=3", "&limit=1000"} {
				query := collection + "?" + selector + limit
				indexed := h.Get(query)
				indexed.Expect(t, 200, "")
				version := indexed.Field(t, "metadata.resourceVersion").(string)
				scanned := h.Get(query + "&resourceVersionMatch=Exact&resourceVersion=" + version)
				if !bytes.Equal(indexed.Body, scanned.Body) {
					t.Errorf("%s answers\n%s\na scan\n%s", query, indexed.Body, scanned.Body)
				}
				whole := h.Get(collection + "?" + selector).Names(t)
				names := indexed.Names(t)
				for page := indexed; ; {
					token, _ := page.Field(t, "metadata.continue").(string)
					if token == "" {
						break
					}
					page = h.Get(query + "&continue=" + token)
					names = strings.TrimSpace(names + " " + page.Names(t)) // the last one may be empty
				}
				if names != whole {
					t.Errorf("%s in pages gives %s, at once %s", query, names, whole)
				}
			}
		}
	}
	for query, more := range map[string]bool{"labelSelector=shard%3Ds2&limit=4": true, "labelSelector=shard%3Ds2&limit=5": false,
		"fieldSelector=metadata.name%3Dp-12&limit=1": false, "labelSelector=shard+in+(s8)&limit=4": false} { // p-38 is the last one of all
		page := h.Get(pods + "?" + query)
		if token, _ := page.Field(t, "metadata.continue").(string); (token != "") != more {
			t.Errorf("%s: continues with %q, want more: %v", query, token, more)
		}
	}
	h.Send("DELETE", pods+"?labelSelector=shard%3Ds2&gracePeriodSeconds=0", "", nil).Expect(t, 200, "")
	if names := h.Get("/api/v1/pods?labelSelector=shard+in+(s1,s2)").Names(t); names != "other/p-01 other/p-11 other/p-21 other/p-31" {
		t.Errorf("after deleting by label the rest is %s", names)
	}
}

// A short list, that of one object by its name above all, is sent with its length; a long
// one is sent while it is read.
func TestShortListHasLength(t *testing.T) {
	h := harness.Start(t, nil)
	for i := range 20 {
		h.Post(harness.ConfigMaps, harness.ConfigMap(fmt.Sprint("m-", i), fmt.Sprintf(`{"k":%q}`, strings.Repeat("x", 8000))))
	}
	h.HTTP.Transport.(*http.Transport).DisableCompression = true
	for _, accept := range []string{"application/json", "application/json;as=Table;g=meta.k8s.io;v=v1"} {
		for query, known := range map[string]bool{"?fieldSelector=metadata.name%3Dm-7": true, "?limit=2": true, "?includeObject=Object": false} {
			r := h.Send(http.MethodGet, harness.ConfigMaps+query, "", nil, "Accept", accept)
			length := r.Header.Get("Content-Length")
			if r.Code != http.StatusOK || known && length != strconv.Itoa(len(r.Body)) || !known && length != "" {
				t.Errorf("%s as %s: %d, %d bytes, announced are %q", query, accept, r.Code, len(r.Body), length)
			}
		}
	}
}
