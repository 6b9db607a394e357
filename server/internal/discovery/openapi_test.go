package discovery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/gen/openapi"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// customs is a catalog of custom resources, with the number of times that their schemas
// were read.
type customs struct {
	*catalog.Catalog
	read map[string]int
}

func newCustoms(groups int) *customs {
	c := &customs{catalog.New(nil, &schema.Table{}), map[string]int{}}
	for n := range groups {
		c.put(n, "a first text")
	}
	return c
}

// put serves the kind of a group with a description.
func (c *customs) put(n int, description string) {
	group := fmt.Sprintf("g%d.example.com", n)
	gv := &api.GroupVersion{Group: group, Version: "v1", GroupPriority: 1000, Compile: func() *schema.Table { return nil }}
	res := &api.Resource{GV: gv, Plural: "kinds", Singular: "kind", Kind: "Kind", ListKind: "KindList", Namespaced: true, Stored: true, StorageVersion: "v1", Verbs: api.VerbGet | api.VerbList}
	res.Definition = &api.Definition{Hash: [32]byte([]byte(fmt.Sprintf("%-32s", description))), Schema: func() []byte {
		c.read[group]++
		return fmt.Appendf(nil, `{"type":"object","description":%q,"properties":{"spec":{"type":"object"}}}`, description)
	}}
	c.Put(res)
}

// all requests every document, and returns the texts of the second version and the hashes
// of the third.
func (c *customs) all(t testing.TB, o *CustomOpenAPI) (texts [][]byte, hashes map[string]string) {
	snapshot := c.Snapshot()
	hashes = map[string]string{}
	for path, hash := range o.Third(snapshot) {
		hashes[path] = hash
		doc, ok := o.ThirdAt(snapshot, path)
		if !ok || doc.Hash != hash {
			t.Fatalf("%s: found %v, hash %s and %s", path, ok, doc.Hash, hash)
		}
		if _, err := doc.Parts(); err != nil {
			t.Fatal(err)
		}
	}
	for _, binary := range []bool{false, true} {
		parts, err := o.Second(snapshot, binary).Parts()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, bytes.Join(parts, nil))
	}
	return texts, hashes
}

// A change of one group makes the documents of that group again, and no others.
func TestDocumentsOfOneGroup(t *testing.T) {
	c, o := newCustoms(3), NewCustomOpenAPI(nil, false, usualDocuments)
	before, hashes := c.all(t, o)
	c.put(1, "a second text")
	after, now := c.all(t, o)
	if want := map[string]int{"g0.example.com": 3, "g1.example.com": 6, "g2.example.com": 3}; fmt.Sprint(c.read) != fmt.Sprint(want) {
		t.Errorf("the schemas were read %v times, want %v", c.read, want)
	}
	for i := range 3 {
		path := fmt.Sprintf("apis/g%d.example.com/v1", i)
		if same := hashes[path] == now[path] && now[path] != ""; same != (i != 1) {
			t.Errorf("%s has the hash %q, before %q", path, now[path], hashes[path])
		}
	}
	for i, text := range after {
		if bytes.Contains(before[i], []byte("a second text")) || !bytes.Contains(text, []byte("a second text")) || bytes.Count(text, []byte("a first text")) != bytes.Count(before[i], []byte("a first text"))-1 {
			t.Errorf("document %d of the second version has not changed", i)
		}
	}
	if !json.Valid(after[0]) {
		t.Error("the document of the second version is no JSON")
	}
}

// The parts of group versions in the discovery documents stay with them.
func TestDiscoveryOfOneGroup(t *testing.T) {
	c := newCustoms(2)
	var d Documents
	of := func(path string) string {
		doc, err := d.At(c.Snapshot(), path)
		if err != nil || !json.Valid(doc.JSON) {
			t.Fatal(path, err, string(doc.JSON))
		}
		return string(doc.JSON)
	}
	first, _ := d.Aggregated(c.Snapshot(), false, "apidiscovery/v2")
	again, _ := d.Aggregated(c.Snapshot(), false, "apidiscovery/v2")
	if !json.Valid(first.JSON) || first.Tag != again.Tag || &first.JSON[0] != &again.JSON[0] {
		t.Errorf("the aggregated document is made again: %s", first.JSON)
	}
	list, kinds := of("/apis"), of("/apis/g0.example.com/v1")
	c.put(2, "")
	if now := of("/apis"); now == list || of("/apis/g0.example.com/v1") != kinds {
		t.Errorf("after a new group: %s", now)
	}
	if now, _ := d.Aggregated(c.Snapshot(), false, "apidiscovery/v2"); now.Tag == first.Tag || !bytes.Contains(now.JSON, []byte("g2.example.com")) {
		t.Errorf("after a new group: %s", now.JSON)
	}
}

// BenchmarkSecond makes the OpenAPI v2 document of a thousand groups after one of them has
// changed.
func BenchmarkSecond(b *testing.B) {
	c, o := newCustoms(1000), NewCustomOpenAPI(nil, false, usualDocuments)
	c.all(b, o)
	b.ResetTimer()
	for i := range b.N {
		c.put(i%1000, fmt.Sprint("now ", i))
		if _, err := o.Second(c.Snapshot(), false).Parts(); err != nil {
			b.Fatal(err)
		}
	}
}

// A generated document is sent as it was packed, and is the same text for clients that do
// not read gzip.
func TestPackedDocuments(t *testing.T) {
	c, o := newCustoms(0), NewCustomOpenAPI(nil, false, usualDocuments)
	for name, doc := range map[string]Text{"json": o.Second(c.Snapshot(), false), "binary": o.Second(c.Snapshot(), true)} {
		want, err := doc.Packed.Text()
		parts, got := doc.Parts()
		if err != nil || got != nil || len(want) != doc.Packed.Size() || !bytes.Equal(bytes.Join(parts, nil), want) {
			t.Errorf("%s: %v, %v, %d bytes of %d", name, err, got, len(want), doc.Packed.Size())
		}
	}
}

func usualDocuments() []api.Documents { return []api.Documents{openapi.Documents()} }
