package patch

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// refusal checks that err is an *api.Error with the code and a message with
// the text.
func refusal(t *testing.T, what string, err error, code int, text string) {
	t.Helper()
	var refused *api.Error
	if !errors.As(err, &refused) {
		t.Errorf("%s: error %v is not an *api.Error", what, err)
		return
	}
	reason := map[int]api.Reason{400: api.ReasonBadRequest, 413: api.ReasonRequestEntityTooLarge, 422: api.ReasonInvalid, 500: api.ReasonInternalError}[code]
	if refused.Code != code || refused.Reason != reason || !strings.Contains(refused.Message, text) {
		t.Errorf("%s: %d %s %q, want a %d with %q", what, refused.Code, refused.Reason, refused.Message, code, text)
	}
}

func TestMerge(t *testing.T) {
	for _, test := range []struct{ current, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{`{"a":1}`, `{"a":{"b":null,"c":[null]}}`, `{"a":{"c":[null]}}`},
		{`{"a":{"b":1}}`, `{}`, `{"a":{"b":1}}`},
		{`{"a":1}`, `{"a":[{"b":null,"c":1},null,[{"b":null}]],"d":{"e":[{"b":null}]}}`, `{"a":[{"c":1},null,[{}]],"d":{"e":[{}]}}`},
		{`{"a":{"b":1}}`, `{"a":[{"b":null}]}`, `{"a":[{"b":null}]}`},
		{`{"n":1234567890123456789,"f":1.50}`, `{"g":9007199254740993}`, `{"n":1234567890123456789,"f":1.50,"g":9007199254740993}`},
		{`{"é\n\"":1}`, `{"é\n\"":2,"\u0001":3}`, `{"é\n\"":2,"\u0001":3}`},
		{`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10}`,
			`{"a":null,"b":3,"c":null,"d":5,"e":null,"f":7,"g":null,"h":9,"i":null,"j":11,"k":12}`,
			`{"b":3,"d":5,"f":7,"h":9,"j":11,"k":12}`},
	} {
		got, err := Merge([]byte(test.current), []byte(test.patch), document.Limits{})
		if err != nil {
			t.Errorf("%s with %s: %v", test.current, test.patch, err)
			continue
		}
		if string(sortedJSON(t, got)) != string(sortedJSON(t, []byte(test.want))) {
			t.Errorf("%s with %s: %s, want %s", test.current, test.patch, got, test.want)
		}
	}
}

func sortedJSON(t testing.TB, text []byte) []byte {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWrongDocuments: bodies that are not a patch.
func TestWrongDocuments(t *testing.T) {
	table := testTable()
	for what, apply := range map[string]func(current, patch string) error{
		"merge": func(current, patch string) error {
			_, err := Merge([]byte(current), []byte(patch), document.Limits{})
			return err
		},
		"strategic": func(current, patch string) error {
			_, err := Strategic([]byte(current), []byte(patch), table, rootType, document.Limits{}, nil)
			return err
		},
	} {
		for _, patch := range []string{``, `{`, `{"data":`, `{"a":1}x`, `{"a":1}{}`, "\xff"} {
			refusal(t, what+" "+patch, apply(`{}`, patch), 400, "cannot be read")
		}
		for _, patch := range []string{`[1,2]`, `null`, `"x"`, `5`} {
			refusal(t, what+" "+patch, apply(`{}`, patch), 400, "must be a JSON object")
		}
		refusal(t, what, apply(`[]`, `{}`), 500, "not a JSON object")
		refusal(t, what, apply(`{`, `{}`), 500, "cannot be read")
	}
	for _, patch := range []string{``, `[{`, `[]]`} {
		_, err := JSON([]byte(`{}`), []byte(patch), document.Limits{}, nil)
		refusal(t, "json "+patch, err, 400, "cannot be read")
	}
	for patch, text := range map[string]string{
		`{"op":"add","path":"/x","value":1}`: "array of operations",
		`null`:                               "array of operations",
		`[{"op":"test","path":"/a"},5]`:      "operation 1",
		`[null]`:                             "operation 0",
		`[[]]`:                               "operation 0",
	} {
		_, err := JSON([]byte(`{}`), []byte(patch), document.Limits{}, nil)
		refusal(t, "json "+patch, err, 400, text)
	}
	_, err := JSON(nil, []byte(`[]`), document.Limits{}, nil)
	refusal(t, "json", err, 500, "not a JSON object")
}

const jsonObject = `{"data":{"k":"v","a/b":"s","m~n":"t"},"list":["a","b","c"],"nulls":[null,1],"n":null,"deep":{"er":{"x":1}}}`

// TestJSONOfRelease tries what 1.35 has changed.
func TestJSONOfRelease(t *testing.T) {
	newer := func(release string) bool { return release <= "1.35" }
	for _, test := range []struct{ patch, wrong, wrongNewer string }{
		{`[{"op":"test","path":"/none"}]`, "needs a value", ""},
		{`[{"op":"test","path":"/data"}]`, "needs a value", "another"},
		{`[{"op":"replace","path":"","value":5}]`, "", "neither an object nor a list"},
	} {
		for wrong, since := range map[string]func(string) bool{test.wrong: nil, test.wrongNewer: newer} {
			_, err := JSON([]byte(jsonObject), []byte(test.patch), document.Limits{}, since)
			if wrong != "" {
				refusal(t, test.patch, err, 422, wrong)
			} else if err != nil {
				t.Errorf("%s: %v", test.patch, err)
			}
		}
	}
}

func TestJSON(t *testing.T) {
	for _, test := range []struct{ patch, path, want string }{
		{`[]`, "data", `{"k":"v","a/b":"s","m~n":"t"}`},
		{`[{"op":"add","path":"/data/n","value":"1"}]`, "data", `{"k":"v","a/b":"s","m~n":"t","n":"1"}`},
		{`[{"op":"replace","path":"/data/k","value":{"x":null}}]`, "data", `{"k":{"x":null},"a/b":"s","m~n":"t"}`},
		{`[{"op":"replace","path":"/data/zz","value":"1"}]`, "data", `{"k":"v","a/b":"s","m~n":"t","zz":"1"}`},
		{`[{"op":"replace","path":"/data/a~1b","value":1},{"op":"remove","path":"/data/m~0n"}]`, "data", `{"k":"v","a/b":1}`},
		{`[{"op":"copy","from":"/data/k","path":"/data/c"},{"op":"move","from":"/data/a~1b","path":"/data/d"},{"op":"remove","path":"/data/k"}]`, "data", `{"m~n":"t","c":"v","d":"s"}`},
		{`[{"op":"test","path":"/data/k","value":"v"},{"op":"test","path":"/n","value":null},{"op":"test","path":"/nosuch","value":null},{"op":"remove","path":"/data"}]`, "data", ``},
		{`[{"op":"add","path":"/list/-","value":"d"},{"op":"add","path":"/list/0","value":"z"}]`, "list", `["z","a","b","c","d"]`},
		{`[{"op":"replace","path":"/list/1","value":"x"},{"op":"replace","path":"/list/-1","value":"y"}]`, "list", `["a","x","y"]`},
		{`[{"op":"remove","path":"/list/0"},{"op":"add","path":"/list/1","value":null}]`, "list", `["b",null,"c"]`},
		{`[{"op":"move","from":"/list/0","path":"/list/2"}]`, "list", `["b","c","a"]`},
		{`[{"op":"add","path":"/deep/er/list","value":[1,{"a":[]}]},{"op":"add","path":"/deep/er/list/1/a/0","value":"x"}]`, "deep", `{"er":{"x":1,"list":[1,{"a":["x"]}]}}`},
		{`[{"op":"replace","path":"","value":{"deep":1}}]`, "deep", `1`},
		{`[{"op":"replace","path":"","value":{"deep":"<&>"}},{"op":"add","path":"/x","value":2}]`, "deep", `"<&>"`},
		{`[{"op":"replace","path":"","value":null},{"op":"replace","path":"","value":5}]`, "n", `null`},
		{`[{"op":"replace","path":"/deep/er/-","value":2},{"op":"replace","path":"/deep/er/0","value":3}]`, "deep", `{"er":{"x":1,"-":2,"0":3}}`},
		{`[{"op":"copy","from":"/deep/none","path":"/deep/er/x"}]`, "deep", `{"er":{"x":null}}`},
		{`[{"op":"remove","path":"/deep/er/x"},{"op":"add","path":"/deep/er/x","value":2},{"op":"copy","from":"/deep","path":"/deep/c"},{"op":"add","path":"/deep/er/y","value":[]}]`, "deep", `{"er":{"x":2,"y":[]},"c":{"er":{"x":2}}}`},
		{`[{"op":"test","path":"/nulls","value":[null, 1]},{"op":"test","path":"/data/k","value":"\u0076"}]`, "nulls", `[null,1]`},
		{`[{"op":"test","path":"/list","value":["a","b","c"]},{"op":"test","path":"/deep","value":{"er":{"x":1}}}]`, "list", `["a","b","c"]`},
	} {
		got, err := JSON([]byte(jsonObject), []byte(test.patch), document.Limits{}, nil)
		if err != nil {
			t.Errorf("%s: %v", test.patch, err)
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(got, &members); err != nil {
			t.Errorf("%s: %s: %v", test.patch, got, err)
			continue
		}
		switch part := members[test.path]; {
		case test.want == "" && part == nil:
		case test.want == "" || part == nil || string(sortedJSON(t, part)) != string(sortedJSON(t, []byte(test.want))):
			t.Errorf("%s: %s is %s, want %s", test.patch, test.path, part, test.want)
		}
	}
}

// TestJSONOrder: the members of an object are in the order of their names where a path led into
// the object, and else as they were. Warnings about unknown fields have that order.
func TestJSONOrder(t *testing.T) {
	for _, test := range []struct{ patch, want string }{
		{`[]`, `{"z":{"y":1,"b":{"d":1,"c":1}},"a":0}`},
		{`[{"op":"remove","path":"/a"}]`, `{"z":{"y":1,"b":{"d":1,"c":1}}}`},
		{`[{"op":"test","path":"/z/y","value":1}]`, `{"a":0,"z":{"b":{"d":1,"c":1},"y":1}}`},
		{`[{"op":"copy","from":"/z","path":"/c"}]`, `{"a":0,"c":{"y":1,"b":{"d":1,"c":1}},"z":{"y":1,"b":{"d":1,"c":1}}}`},
		{`[{"op":"copy","from":"/z","path":"/z/c"}]`, `{"a":0,"z":{"b":{"d":1,"c":1},"c":{"b":{"d":1,"c":1},"y":1},"y":1}}`},
	} {
		got, err := JSON([]byte(`{"z":{"y":1,"b":{"d":1,"c":1}},"a":0}`), []byte(test.patch), document.Limits{}, nil)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %s, %v, want %s", test.patch, got, err, test.want)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	for patch, text := range map[string]string{
		`[{"op":"test","path":"/data/k","value":"x"}]`:                          "/data/k",
		`[{"op":"test","path":"/nosuch"}]`:                                      "test needs a value",
		`[{"op":"test","path":"","value":{}}]`:                                  "another",
		`[{"op":"test","path":"/nulls","value":[1,null]}]`:                      "another",
		`[{"op":"copy","from":"/list/3","path":"/x"}]`:                          "from /list/3",
		`[{"op":"copy","from":"/none/a","path":"/x"}]`:                          "from /none/a",
		`[{"op":"move","from":"/none","path":"/x"}]`:                            "from /none",
		`[{"op":"move","from":"/deep","path":"/deep/er"}]`:                      "/deep/er",
		`[{"op":"remove","path":"/data/zz"}]`:                                   "/data/zz",
		`[{"op":"add","path":"/none/zz","value":1}]`:                            "/none/zz",
		`[{"op":"add","path":"/n/zz","value":1}]`:                               "/n/zz",
		`[{"op":"add","path":"/m","value":null},{"op":"remove","path":"/m/m"}]`: "/m/m",
		`[{"op":"remove","path":"/list/9"}]`:                                    "/list/9",
		`[{"op":"replace","path":"/list/9","value":1}]`:                         "/list/9",
		`[{"op":"replace","path":"/list/-","value":1}]`:                         "/list/-",
		`[{"op":"replace","path":"/list/x","value":1}]`:                         "/list/x",
		`[{"op":"add","path":"/list/9","value":1}]`:                             "/list/9",
		`[{"op":"frob","path":"/a"}]`:                                           `operation 0: op "frob" is not known`,
		`[{"path":"/a"}]`:                                                       `is not known`,
		`[{"op":5,"path":"/a"}]`:                                                `is not known`,
		`[{"op":"remove"}]`:                                                     `operation 0: remove needs a path`,
		`[{"op":"remove","path":7}]`:                                            `needs a path`,
		`[{"op":"remove","path":"data"}]`:                                       `must start with "/"`,
		`[{"op":"remove","path":""}]`:                                           `cannot be applied`,
		`[{"op":"add","path":"","value":{}}]`:                                   `can only be replaced`,
		`[{"op":"copy","path":"/a"}]`:                                           `needs from`,
		`[{"op":"copy","path":"","from":"/data"}]`:                              `whole object`,
		`[{"op":"move","path":"/a","from":""}]`:                                 `whole object`,
		`[{"op":"move","path":"/a","from":"b"}]`:                                `must start with "/"`,
	} {
		got, err := JSON([]byte(jsonObject), []byte(patch), document.Limits{}, nil)
		if err == nil {
			t.Errorf("%s: accepted, %s", patch, got)
			continue
		}
		refusal(t, patch, err, 422, text)
	}
}

func TestJSONLimits(t *testing.T) {
	operation := `{"op":"add","path":"/x","value":1}`
	all := "[" + strings.Repeat(operation+",", MaxOperations-1) + operation
	if _, err := JSON([]byte(`{}`), []byte(all+"]"), document.Limits{}, nil); err != nil {
		t.Errorf("%d operations: %v", MaxOperations, err)
	}
	_, err := JSON([]byte(`{}`), []byte(all+","+operation+"]"), document.Limits{}, nil)
	refusal(t, "one more", err, http.StatusRequestEntityTooLarge, "10001 operations")

	// Slow patches are refused; large ones that are quick are not.
	wide := func(n int, open, entry, closing string) string {
		return open + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + closing
	}
	long := wide(100_000, `{"list":[`, `0`, `]}`)
	move := func(n int) string {
		return wide(n, "[", `{"op":"move","from":"/list/0","path":"/list/-"}`, "]")
	}
	_, err = JSON([]byte(long), []byte(move(2100)), document.Limits{}, nil)
	refusal(t, "moves", err, http.StatusRequestEntityTooLarge, "the JSON patch moves more than 200000000 elements of lists")
	if _, err := JSON([]byte(long), []byte(move(100)), document.Limits{}, nil); err != nil {
		t.Errorf("100 moves: %v", err)
	}
	large := fmt.Sprintf(`{"data":%q,"list":[0]}`, strings.Repeat("x", 1<<20))
	if _, err := JSON([]byte(large), []byte(move(4000)), document.Limits{}, nil); err != nil {
		t.Errorf("moves in a short list of a large object: %v", err)
	}
	var members, removals []string
	for i := range 100_000 {
		members = append(members, fmt.Sprintf(`"k%d":1`, i))
		removals = append(removals, fmt.Sprintf(`{"op":"remove","path":"/k%d"}`, i))
	}
	text := func(entries []string, n int) string { return strings.Join(entries[:n], ",") }
	_, err = JSON([]byte("{"+text(members, 100_000)+"}"), []byte("["+text(removals, MaxOperations)+"]"), document.Limits{}, nil)
	if err != nil {
		t.Errorf("removals: %v", err)
	}
	got, err := JSON([]byte("{"+text(members, 5000)+"}"), []byte("["+text(removals, 5000)+"]"), document.Limits{}, nil)
	if err != nil || string(got) != "{}" {
		t.Errorf("all members of a map removed: %.100s, %v", got, err)
	}
	// The largest list may come with the patch.
	_, err = JSON([]byte("{}"), []byte(`[{"op":"replace","path":"","value":`+long+"},"+move(2100)[1:]), document.Limits{}, nil)
	refusal(t, "moves in what the patch brings", err, http.StatusRequestEntityTooLarge, "the JSON patch moves more than")

	// Those of admission webhooks may be many, if they are quick.
	many := []byte(all + "," + strings.Repeat(operation+",", 40_000) + operation + "]")
	if got, err := Admitted([]byte(`{}`), many, document.Limits{}); err != nil || string(got) != `{"x":1}` {
		t.Errorf("50,001 operations: %s %v", got, err)
	}
	_, err = Admitted([]byte(`{"list":[0]}`), []byte(wide(30_000, "[", `{"op":"add","path":"/list/0","value":1}`, "]")), document.Limits{})
	refusal(t, "insertions", err, http.StatusRequestEntityTooLarge, "the JSON patch moves more than")
	churn := wide(30_000, `[{"op":"add","path":"/a","value":{}},`, `{"op":"add","path":"/a/x","value":1},{"op":"remove","path":"/a/x"},{"op":"copy","from":"/a","path":"/b"}`, "]")
	_, err = Admitted([]byte(`{}`), []byte(churn), document.Limits{})
	refusal(t, "copies of removed members", err, http.StatusRequestEntityTooLarge, "the JSON patch moves more than")

	double := strings.Repeat(`{"op":"copy","from":"/a","path":"/a/b"},{"op":"copy","from":"/a","path":"/a/c"},`, 40)
	_, err = JSON([]byte(fmt.Sprintf(`{"a":{"x":%q}}`, strings.Repeat("x", 1000))), []byte("["+strings.TrimSuffix(double, ",")+"]"), document.Limits{}, nil)
	refusal(t, "copies", err, 422, "cannot be applied")
}

// reference is RFC 7386 as it is written there.
func reference(target, patch any) any {
	_, object := target.(map[string]any)
	if list, ok := patch.([]any); ok && !object { // unlike the RFC
		for i, e := range list {
			list[i] = reference(nil, e)
		}
	}
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if o, ok := target.(map[string]any); ok {
		for k, v := range o {
			out[k] = v
		}
	}
	for k, v := range p {
		if v == nil {
			delete(out, k)
		} else {
			out[k] = reference(out[k], v)
		}
	}
	return out
}

func seeds(f *testing.F) {
	f.Add(`{"a":{"b":1},"c":[1]}`, `{"a":{"b":null,"d":[{"x":null}]},"c":"x"}`)
	f.Add(`{"items":[{"name":"a"},{"name":"b","value":"x"}],"set":["a"]}`,
		`{"items":[{"name":"b","$patch":"delete"},{"name":"c"}],"$setElementOrder/items":[{"name":"c"}],"$deleteFromPrimitiveList/set":["a"],"item":{"$retainKeys":["name"],"name":"x"}}`)
	f.Add(`{"ports":[{"port":1},{"port":1}]}`, `{"ports":[{"port":1,"protocol":"x"},{"port":1,"$patch":"merge"},{"$patch":"replace"}]}`)
	f.Add(jsonObject, `[{"op":"copy","from":"/list","path":"/data/x"},{"op":"move","from":"/list/0","path":"/list/-"},{"op":"test","path":"/nulls","value":[1]}]`)
	f.Add(`{}`, `{"$patch":"x"}`)
}

func FuzzMerge(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, current, patch string) {
		got, err := Merge([]byte(current), []byte(patch), document.Limits{})
		checkOutcome(t, got, err)
		if err != nil {
			return
		}
		decode := func(text string) (v any, err error) {
			d := json.NewDecoder(strings.NewReader(text))
			d.UseNumber()
			err = d.Decode(&v)
			return v, err
		}
		c, err1 := decode(current)
		p, err2 := decode(patch)
		if err1 != nil || err2 != nil {
			return // the decoders may differ on unusual documents
		}
		want, err := json.Marshal(reference(c, p))
		if err != nil {
			t.Fatal(err)
		}
		if string(sortedJSON(t, got)) != string(want) {
			t.Errorf("%s with %s: %s, want %s", current, patch, got, want)
		}
	})
}

func FuzzStrategic(f *testing.F) {
	seeds(f)
	table := testTable()
	f.Fuzz(func(t *testing.T, current, patch string) {
		for _, newer := range []bool{false, true} {
			got, err := Strategic([]byte(current), []byte(patch), table, rootType, document.Limits{}, func(string) bool { return newer })
			checkOutcome(t, got, err)
		}
	})
}

func FuzzJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, current, patch string) {
		stored, err := document.DecodeAny([]byte(current), document.Limits{})
		if err != nil {
			return
		}
		defer stored.Release()
		got, err := JSON(stored.Root().AppendJSON(nil), []byte(patch), document.Limits{}, nil)
		checkOutcome(t, got, err)
	})
}

func checkOutcome(t *testing.T, got []byte, err error) {
	t.Helper()
	var refused *api.Error
	switch {
	case err != nil && !errors.As(err, &refused):
		t.Errorf("not an *api.Error: %v", err)
	case err == nil && !json.Valid(got):
		t.Errorf("not JSON: %s", got)
	case err == nil && got[0] != '{':
		t.Errorf("not an object: %s", got)
	}
}
