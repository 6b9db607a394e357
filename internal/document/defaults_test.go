package document

import "testing"

func TestDefaultsThatDependOnASibling(t *testing.T) {
	table := parseTable(t, `
type Service
  kind string default="inner"
  policy string when=kind=open|balanced default="all"
  ports bool explicit when=kind=balanced default=true
  config Config when=kind=balanced default={}
type Config
  seconds int32 explicit default=30
`)
	dec := Decoder{Table: table}
	for text, want := range map[string]string{
		`{}`:                                `{"kind":"inner"}`,
		`{"kind":"open"}`:                   `{"kind":"open","policy":"all"}`,
		`{"kind":"balanced"}`:               `{"kind":"balanced","policy":"all","ports":true,"config":{"seconds":30}}`,
		`{"policy":"","kind":"open"}`:       `{"kind":"open","policy":"all"}`,
		`{"policy":"none","kind":"open"}`:   `{"kind":"open","policy":"none"}`,
		`{"ports":false,"kind":"balanced"}`: `{"kind":"balanced","policy":"all","ports":false,"config":{"seconds":30}}`,
		`{"config":{}}`:                     `{"kind":"inner","config":{"seconds":30}}`,
	} {
		doc, _, err := dec.Decode(table.Root("Service"), []byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := string(doc.Root().AppendJSON(nil)); got != want {
			t.Errorf("%s is completed to %s, not %s", text, got, want)
		}
		doc.Release()
	}
}
