package document

import (
	"errors"
	"strings"
	"testing"
)

// A member that is filled in counts with its name, before it is made.
func TestFilledMembersAreBounded(t *testing.T) {
	name := strings.Repeat("n", 100)
	table := parseTable(t, `
type Boxes
  of map:Box
type Box
  `+name+` string default="a"
`)
	dec := Decoder{Table: table, Limits: Limits{MaxBytes: 1000}}
	for text, fits := range map[string]bool{
		`{"of":{"a":{},"b":{},"c":{}}}`:                        true,
		`{"of":{` + strings.Repeat(`"a":{},`, 10) + `"b":{}}}`: false,
		`{"of":{"a":{"` + name + `":"b"}}}`:                    true,
	} {
		doc, _, err := dec.Decode(table.Root("Boxes"), []byte(text))
		doc.Release()
		var limit *LimitError
		if tooLarge := errors.As(err, &limit) && limit.What == FilledBytes; tooLarge == fits || fits && err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

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

// An amount finer than a thousandth becomes the next thousandth where the table says so.
func TestAmountsAreRoundedUp(t *testing.T) {
	dec := Decoder{Table: parseTable(t, `
type Box
  limits map:amount
  size quantity explicit
`)}
	for text, want := range map[string]string{
		`{"limits":{"a":"1u","b":"1500u","c":"-1500u","d":0.0001,"e":"1e-9","f":"1.5"}}`: `{"limits":{"a":"1m","b":"2m","c":"-2m","d":"1m","e":"1e-3","f":"1500m"}}`,
		`{"limits":{"a":"2m","b":"1n"},"size":"1500u"}`:                                  `{"limits":{"a":"2m","b":"1m"},"size":"1500u"}`,
	} {
		doc, _, err := dec.Decode(dec.Table.Root("Box"), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(doc.Root().AppendJSON(nil)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		doc.Release()
	}
}
