package codec

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// boxes is a resource with a column of every sort.
func boxes() *api.Resource {
	table := parseTable(`
Box
	kind - string
	apiVersion - string
	metadata 1 ! Meta
	size 2 int32
	on 3 bool
	limit 4 ? int64
	color 5 string
	items 6 []string
	opened 7 ? time
Meta
	name 1 string
	creationTimestamp 8 ! time
	labels 11 map[string]
`)
	return &api.Resource{
		GV: &api.GroupVersion{Version: "v1", Table: table}, Type: table.Root("Box"), Plural: "boxes", Kind: "Box",
		Columns: []api.Column{
			{Name: "Name", Type: "string", Format: "name", Description: `The "name".`, Path: ".metadata.name"},
			{Name: "Size", Type: "integer", Path: ".size"},
			{Name: "On", Type: "boolean", Path: ".on"},
			{Name: "Limit", Type: "integer", Path: ".limit"},
			{Name: "Color", Type: "string", Path: ".color"},
			{Name: "Items", Type: "string", Path: ".items"},
			{Name: "Count", Type: "string", Cell: func(obj document.Value) any { return int64(obj.Get("items").Len()) }},
			{Name: "Entries", Type: "string", Path: ".items", Cell: func(v document.Value) any { return int64(v.Len()) }},
			{Name: "App", Type: "string", Path: ".metadata.labels.app"},
			{Name: "Paint", Type: "string", Path: ".color", Absent: "<none>"},
			{Name: "Opened", Type: "string", Priority: 1, Path: ".opened"},
			{Name: "Age", Type: "string", Path: ".metadata.creationTimestamp"},
			{Name: "Last", Type: "string", Cell: func(obj document.Value) any {
				return api.Ago{Before: `"1" (`, Since: obj.Get("opened").Text(), After: " ago)"}
			}},
			{Name: "Created At", Type: "date", Path: ".metadata.creationTimestamp"},
		},
	}
}

const (
	fullBox  = `{"kind":"Box","apiVersion":"v1","metadata":{"name":"a\"b","creationTimestamp":"2026-11-21T11:58:30Z","labels":{"app":"x"}},"size":3,"on":true,"limit":0,"color":"red","items":["p","q\""],"opened":"2026-11-20T12:00:00Z"}`
	emptyBox = `{"kind":"Box","apiVersion":"v1","metadata":{"name":"e","creationTimestamp":null}}`

	fullCells  = `["a\"b",3,true,0,"red","[\"p\",\"q\\\"\"]",2,2,"x","red","24h","90s","\"1\" (24h ago)","2026-11-21T11:58:30Z"]`
	emptyCells = `["e",0,false,null,"",null,0,0,"","<none>","<unknown>","<unknown>","\"1\" (<unknown> ago)",null]`
)

func appendRow(t testing.TB, table *Table, res *api.Resource, dst []byte, body string) []byte {
	doc, err := document.ReadStored(res.GV.Table, res.Type, []byte(body))
	if err != nil {
		t.Fatal(err)
	}
	defer doc.Release()
	return rowOf(dst, table, doc.Root(), []byte(body))
}

func rowOf(dst []byte, table *Table, obj document.Value, body []byte) []byte {
	var space [512]byte
	return table.AppendRow(dst, table.Cells(space[:0], obj), obj.Get("metadata").Unchanged(), body)
}

func TestTableRows(t *testing.T) {
	res := boxes()
	const partial = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":`
	for _, c := range []struct{ include, body, want string }{
		{"", fullBox, `{"cells":` + fullCells + `,"object":` + partial + `{"name":"a\"b","creationTimestamp":"2026-11-21T11:58:30Z","labels":{"app":"x"}}}}`},
		{"Metadata", emptyBox, `{"cells":` + emptyCells + `,"object":` + partial + `{"name":"e","creationTimestamp":null}}}`},
		{"Object", emptyBox, `{"cells":` + emptyCells + `,"object":` + emptyBox + `}`},
		{"None", emptyBox, `{"cells":` + emptyCells + `,"object":null}`},
	} {
		table, err := NewTable(res, TableOptions{APIVersion: "meta.k8s.io/v1", IncludeObject: c.include, Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(appendRow(t, table, res, nil, c.body)); got != c.want {
			t.Errorf("%q %s\n got %s\nwant %s", c.include, c.body, got, c.want)
		}
		metadata, _ := document.Find([]byte(c.body), "metadata")
		if got := table.Metadata([]byte(c.body), len(metadata)); !bytes.Equal(got, metadata) {
			t.Errorf("the metadata of %s is %s", c.body, got)
		}
		for _, size := range []int{len(c.body), 1 << 30} {
			if got := table.Metadata([]byte(c.body), size); got != nil {
				t.Errorf("%d bytes of metadata: %s", size, got)
			}
		}
	}
	_, err := NewTable(res, TableOptions{IncludeObject: "Nonsense"})
	var known *api.Error
	if !errors.As(err, &known) || known.Code != 400 {
		t.Errorf("includeObject=Nonsense: %v", err)
	}
}

func TestTableHead(t *testing.T) {
	for _, c := range []struct {
		columns   int
		noHeaders bool
		want      string
	}{
		{2, false, `"columnDefinitions":[{"name":"Name","type":"string","format":"name","description":"The \"name\".","priority":0},{"name":"Size","type":"integer","format":"","description":"","priority":0}]`},
		{0, false, `"columnDefinitions":[]`},
		{2, true, `"columnDefinitions":null`},
	} {
		res := boxes()
		res.Columns = res.Columns[:c.columns]
		table, err := NewTable(res, TableOptions{APIVersion: "meta.k8s.io/v1beta1", NoHeaders: c.noHeaders, Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		got := string(table.AppendHead(nil, ListMeta{ResourceVersion: "7", Continue: "next"}))
		want := `{"kind":"Table","apiVersion":"meta.k8s.io/v1beta1","metadata":{"resourceVersion":"7","continue":"next"},` + c.want + `,"rows":[`
		if got != want {
			t.Errorf(" got %s\nwant %s", got, want)
		}
	}
}

// TestRowAllocations: neither a row nor a message makes allocations in a buffer with room,
// besides those of cells with functions.
func TestRowAllocations(t *testing.T) {
	res, body := podResource(), podJSON(t)
	table, err := NewTable(res, TableOptions{APIVersion: "meta.k8s.io/v1", Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	binary, dst := NewBinary(res.GV.Table), make([]byte, 0, 64<<10)
	for name, write := range map[string]func() error{
		"row": func() error {
			doc, err := document.ReadStored(res.GV.Table, res.Type, body)
			if err == nil {
				var space [512]byte
				table.AppendRow(dst, table.Cells(space[:0], doc.Root()), doc.Root().Get("metadata").Unchanged(), body)
				doc.Release()
			}
			return err
		},
		"message": func() error {
			_, err := AppendBinaryItem(dst, func(dst []byte) ([]byte, error) { return binary.Append(dst, res.Type, body) })
			return err
		},
	} {
		n := testing.AllocsPerRun(100, func() {
			if err := write(); err != nil {
				t.Fatal(err)
			}
		})
		if n > 1 { // the pools are emptied now and then
			t.Errorf("a %s makes %.0f allocations", name, n)
		}
	}
}

func BenchmarkTableRow(b *testing.B) {
	res, body := podResource(), podJSON(b)
	table, err := NewTable(res, TableOptions{APIVersion: "meta.k8s.io/v1", Now: noon})
	if err != nil {
		b.Fatal(err)
	}
	var dst []byte
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		doc, err := document.ReadStored(res.GV.Table, res.Type, body)
		if err != nil {
			b.Fatal(err)
		}
		dst = rowOf(dst[:0], table, doc.Root(), body)
		doc.Release()
	}
	if !strings.HasPrefix(string(dst), `{"cells":["pod-17","Running",`) {
		b.Fatalf("%s", dst)
	}
}
