package document_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

func TestEachMember(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{}`, ""},
		{`{"a":1}`, "a=1;"},
		{`{"a":{"b":[1,{"c":"}"}]},"d":"x,\"y","e":[],"f":null}`, `a={"b":[1,{"c":"}"}]};d="x,\"y";e=[];f=null;`},
		{`[1]`, ""},
		{``, ""},
		{`{"a"`, ""},
		{`{"a":`, ""},
		{`{"a":1,`, "a=1;"},
		{`{"a":1,"b":"unfinished`, "a=1;"},
	} {
		var got strings.Builder
		document.EachMember([]byte(c.text), func(name, value []byte) bool {
			fmt.Fprintf(&got, "%s=%s;", name, value)
			return true
		})
		if got.String() != c.want {
			t.Errorf("%s: visited %s, want %s", c.text, &got, c.want)
		}
	}
}

func TestEachElement(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`[]`, ""},
		{`[1]`, "1;"},
		{`["a,b",{"c":[2]},[]]`, `"a,b";{"c":[2]};[];`},
		{`{"a":1}`, ""},
		{`[`, ""},
		{`[1,`, "1;"},
	} {
		var got strings.Builder
		document.EachElement([]byte(c.text), func(value []byte) bool {
			fmt.Fprintf(&got, "%s;", value)
			return true
		})
		if got.String() != c.want {
			t.Errorf("%s: visited %s, want %s", c.text, &got, c.want)
		}
	}
}

func TestEachStopsWhenTold(t *testing.T) {
	seen := 0
	document.EachMember([]byte(`{"a":1,"b":2}`), func(_, _ []byte) bool { seen++; return false })
	document.EachElement([]byte(`[1,2]`), func(_ []byte) bool { seen++; return false })
	if seen != 2 {
		t.Errorf("visited %d values, want one of each", seen)
	}
}

func TestUnquote(t *testing.T) {
	for text, want := range map[string]string{`"a"`: "a", `""`: "", `"a\"bé"`: `a"bé`, `1`: "", ``: "", `"`: ""} {
		if got := document.Unquote([]byte(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// A walk over any text ends; over valid JSON without white space it visits the members
// that encoding/json finds.
func FuzzEach(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":[1,2]},"c":"d\\"}`, `[{"a":1},"]"]`, `{"a":`, `"\u00`, `[,]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		members, elements := 0, 0
		document.EachMember(data, func(_, value []byte) bool { members++; document.Unquote(value); return true })
		document.EachElement(data, func(value []byte) bool { elements++; document.Unquote(value); return true })
		var compact bytes.Buffer
		if json.Compact(&compact, data) != nil || !bytes.Equal(compact.Bytes(), data) {
			return
		}
		var list []json.RawMessage
		if json.Unmarshal(data, &list) == nil && elements != len(list) {
			t.Errorf("%s: visited %d elements, want %d", data, elements, len(list))
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(data, &object) == nil && members < len(object) {
			t.Errorf("%s: visited %d members, want %d", data, members, len(object))
		}
	})
}
