package verbs_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestResourceVersionTable has a row for every cell of the specification's "Resource
// version rules" for list and for get. In queries OLD, NOW and TOKEN stand for the
// revision with one object, the newest with three, and the token of a page of one object
// that was read at NOW, before the last object was created.
func TestResourceVersionTable(t *testing.T) {
	h := harness.Start(t, nil)
	revision := func() string { return h.Get(harness.ConfigMaps).Field(t, "metadata.resourceVersion").(string) }
	h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
	old := revision()
	h.Create(harness.ConfigMaps, harness.ConfigMap("b", "{}"))
	page := h.Get(harness.ConfigMaps + "?limit=1")
	token, at := page.Field(t, "metadata.continue").(string), revision()
	h.Create(harness.ConfigMaps, harness.ConfigMap("c", "{}"))
	now := revision()
	fill := strings.NewReplacer("OLD", old, "NOW", now, "TOKEN", url.QueryEscape(token))
	const a, abc = "default/a", "default/a default/b default/c"
	for _, c := range []struct {
		query string
		code  int
		at    string
		names string
	}{
		{"", 200, now, abc},
		{"resourceVersion=0", 200, now, abc},
		{"resourceVersion=OLD", 200, now, abc},
		{"resourceVersion=NOW", 200, now, abc},
		{"limit=1", 200, now, a},
		{"limit=1&resourceVersion=0", 200, now, a},
		{"limit=1&resourceVersion=OLD", 200, old, a},
		{"limit=1&resourceVersion=OLD&labelSelector=!x", 200, old, a},
		{"limit=1&resourceVersion=OLD&fieldSelector=metadata.name%3Da", 200, now, a},
		{"limit=1&resourceVersion=OLD&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Da", 200, old, a},
		{"limit=5&continue=TOKEN", 200, at, "default/b"},
		{"limit=5&continue=TOKEN&resourceVersion=0", 200, at, "default/b"},
		{"limit=5&continue=TOKEN&resourceVersion=OLD", 400, "", ""},
		{"resourceVersionMatch=Exact", 422, "", ""},
		{"resourceVersionMatch=Exact&limit=1", 422, "", ""},
		{"resourceVersionMatch=Exact&resourceVersion=0", 422, "", ""},
		{"resourceVersionMatch=Exact&resourceVersion=0&limit=1", 422, "", ""},
		{"resourceVersionMatch=Exact&resourceVersion=OLD", 200, old, a},
		{"resourceVersionMatch=Exact&resourceVersion=OLD&limit=5", 200, old, a},
		{"resourceVersionMatch=NotOlderThan", 422, "", ""},
		{"resourceVersionMatch=NotOlderThan&limit=1", 422, "", ""},
		{"resourceVersionMatch=NotOlderThan&resourceVersion=0", 200, now, abc},
		{"resourceVersionMatch=NotOlderThan&resourceVersion=0&limit=1", 200, now, a},
		{"resourceVersionMatch=NotOlderThan&resourceVersion=OLD", 200, now, abc},
		{"resourceVersionMatch=NotOlderThan&resourceVersion=OLD&limit=1", 200, now, a},
		{"resourceVersionMatch=Exact&resourceVersion=OLD&limit=5&continue=TOKEN", 422, "", ""},
		{"resourceVersionMatch=Nearly&resourceVersion=OLD", 422, "", ""},
		{"resourceVersion=x", 400, "", ""},
	} {
		r := h.Get(harness.ConfigMaps + "?" + fill.Replace(c.query))
		if r.Code != c.code {
			t.Errorf("%s: answered %d, want %d: %s", c.query, r.Code, c.code, r.Body)
			continue
		}
		if c.code != http.StatusOK {
			continue
		}
		if names, version := r.Names(t), r.Field(t, "metadata.resourceVersion"); names != c.names || version != c.at {
			t.Errorf("%s: lists %q at %v, want %q at %s", c.query, names, version, c.names, c.at)
		}
	}
	later, err := strconv.Atoi(now)
	if err != nil {
		t.Fatal(err)
	}
	future := strconv.Itoa(later + 1000)
	for query, code := range map[string]int{"": 200, "?resourceVersion=0": 200, "?resourceVersion=" + old: 200, "?resourceVersion=" + now: 200, "?resourceVersion=" + future: 504} {
		if r := h.Get(harness.ConfigMaps + "/a" + query); r.Code != code {
			t.Errorf("get%s: answered %d, want %d: %s", query, r.Code, code, r.Body)
		}
	}
	r := h.Get(harness.ConfigMaps + "?resourceVersion=" + future)
	r.Expect(t, http.StatusGatewayTimeout, "Timeout")
	if !strings.Contains(string(r.Body), "Too large resource version") || r.Header.Get("Retry-After") != "1" {
		t.Errorf("a list of the future: %v %s", r.Header, r.Body)
	}
}

// An annotation of the first version of daemon sets is shown with the whole object only.
func TestHiddenAnnotations(t *testing.T) {
	h := harness.Start(t, nil)
	path, name := "/apis/apps/v1/namespaces/default/daemonsets", "daemonset.template.generation"
	h.Post(path, `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`)
	const meta, binary = ";v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf"
	for _, c := range []struct {
		path, accept string
		shown        bool
	}{
		{"/a", "application/json", true},
		{"", "application/json", true},
		{"/a", "application/json;as=Table" + meta, false},
		{"", "application/json;as=Table" + meta, false},
		{"?includeObject=Object", "application/json;as=Table" + meta, true},
		{"/a", "application/json;as=PartialObjectMetadata" + meta, false},
		{"", "application/json;as=PartialObjectMetadataList" + meta, false},
		{"", binary + ";as=PartialObjectMetadataList" + meta, false},
		{"?watch=true&resourceVersion=0&timeoutSeconds=1&allowWatchBookmarks=true", "application/json;as=PartialObjectMetadata" + meta, false},
	} {
		r := h.Send("GET", path+c.path, "", nil, "Accept", c.accept)
		if got := strings.Contains(string(r.Body), "\"deprecated."+name+"\":") || strings.Contains(string(r.Body), name+"\x12"); r.Code != 200 || !strings.Contains(string(r.Body), "managedFields") && !strings.Contains(string(r.Body), "FieldsV1") || got != c.shown {
			t.Errorf("%s as %s: shown %v, %d: %.300s", c.path, c.accept, got, r.Code, r.Body)
		}
	}
}
