package document

import (
	"strings"
	"testing"
	"time"
)

func TestJoinRepeated(t *testing.T) {
	table := parseTable(t, kitchen)
	for _, c := range []struct{ what, in, want string }{
		{"nothing twice", ` { "name" : "x", "unknown":1 } `, `{"name":"x"}`},
		{"the last scalar", `{"name":"x","count":1,"n\u0061me":"y"}`, `{"name":"y","count":1}`},
		{"objects", `{"inner":{"a":"x"},"inner":{"b":"y"}}`, `{"inner":{"a":"x","b":"y"}}`},
		{"three objects", `{"inner":{"a":"x"},"inner":{"a":"z"},"inner":{"b":"y"}}`, `{"inner":{"a":"z","b":"y"}}`},
		{"maps", `{"labels":{"a":"1","b":"2"},"labels":{"b":"3","\u0061":"4"}}`, `{"labels":{"a":"4","b":"3"}}`},
		{"values of maps are replaced", `{"byName":{"k":{"a":"1"},"k":{"b":"2"}}}`, `{"byName":{"k":{"b":"2"}}}`},
		{"lists", `{"parts":[{"a":"1"},{"a":"2"}],"parts":[{"b":"3"}]}`, `{"parts":[{"a":"1","b":"3"}]}`},
		{"a longer list", `{"parts":[{"a":"1"}],"parts":[{"b":"3"},{"b":"4"}]}`, `{"parts":[{"a":"1","b":"3"},{"b":"4"}]}`},
		{"inside", `{"parts":[{"more":[{"a":"1"}],"more":[{"b":"2"}]}]}`, `{"parts":[{"more":[{"a":"1","b":"2"}]}]}`},
		{"null after a map", `{"labels":{"a":"1"},"labels":null}`, `{"labels":null}`},
		{"null between maps", `{"labels":{"a":"1"},"labels":null,"labels":{"b":"2"}}`, `{"labels":{"b":"2"}}`},
		{"null after a scalar", `{"name":"x","name":null}`, `{"name":"x"}`},
		{"null before a scalar", `{"name":null,"name":"x"}`, `{"name":"x"}`},
		{"any is replaced", `{"raw":{"a":1},"raw":{"b":{"c":1,"c":2}}}`, `{"raw":{"b":{"c":1,"c":2}}}`},
	} {
		if got := JoinRepeated([]byte(c.in), table, table.Root("Thing")); string(got) != c.want {
			t.Errorf("%s: %s is %s, want %s", c.what, c.in, got, c.want)
		}
	}
}

// Joining is linear in the text.
func TestJoinManyRepeated(t *testing.T) {
	table := parseTable(t, kitchen)
	const n = 200_000
	for _, text := range []string{
		`{` + strings.Repeat(`"inner":{"a":"x"},`, n) + `"name":"x"}`,
		`{` + strings.Repeat(`"parts":[{"a":"x"}],`, n) + `"name":"x"}`,
		`{"parts":[` + strings.Repeat(`{},`, n) + `{}],` + strings.Repeat(`"parts":[],`, n) + `"name":"x"}`,
		`{"labels":{` + strings.Repeat(`"a":"x",`, n) + `"b":"y"}}`,
	} {
		start := time.Now()
		JoinRepeated([]byte(text), table, table.Root("Thing"))
		if took := time.Since(start); took > 15*time.Second {
			t.Errorf("%.40s took %v", text, took)
		}
	}
}
