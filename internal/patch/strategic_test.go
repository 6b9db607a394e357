package patch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

func TestStrategic(t *testing.T) {
	table := testTable()
	for _, test := range []struct{ what, current, patch, want string }{
		{"members merge, null removes", `{"name":"a","count":1,"labels":{"x":"1","y":"2"}}`, `{"count":null,"labels":{"x":null,"z":"3"}}`, `{"name":"a","labels":{"y":"2","z":"3"}}`},
		{"unknown fields merge as JSON", `{"other":{"a":1,"list":[1,2]}}`, `{"other":{"b":{"c":null},"list":[3]}}`, `{"other":{"a":1,"list":[3],"b":{}}}`},
		{"another kind of value replaces", `{"any":[1],"labels":{"a":"b"}}`, `{"any":{"x":null,"y":1},"labels":"s"}`, `{"any":{"y":1},"labels":"s"}`},
		{"the last of equal names counts", `{"count":1}`, `{"count":2,"count":3}`, `{"count":3}`},

		{"new elements come first", `{"items":[{"name":"c"}]}`, `{"items":[{"name":"side"}]}`, `{"items":[{"name":"side"},{"name":"c"}]}`},
		{"elements merge by key", `{"items":[{"name":"s"},{"name":"c","value":"1","set":["x"]}]}`, `{"items":[{"name":"c","value":"2","set":["y"],"labels":{"a":"b"}}]}`,
			`{"items":[{"name":"s"},{"name":"c","value":"2","set":["y","x"],"labels":{"a":"b"}}]}`},
		{"the order of the patch", `{"items":[{"name":"a","value":"1"}]}`, `{"items":[{"name":"b","value":"2"},{"name":"a","value":"3"}]}`, `{"items":[{"name":"b","value":"2"},{"name":"a","value":"3"}]}`},
		{"the example of item", `{"items":[{"name":"a"},{"name":"c"}]}`, `{"items":[{"name":"b"},{"name":"c","value":"x"}]}`, `{"items":[{"name":"b"},{"name":"a"},{"name":"c","value":"x"}]}`},
		{"delete an element", `{"items":[{"name":"side"},{"name":"c"}]}`, `{"items":[{"$patch":"delete","name":"side"}]}`, `{"items":[{"name":"c"}]}`},
		{"delete what is not there", `{"items":[{"name":"c"}]}`, `{"items":[{"$patch":"delete","name":"side"}]}`, `{"items":[{"name":"c"}]}`},
		{"delete all with the key", `{"ports":[{"port":1,"protocol":"T"},{"port":2},{"port":1,"protocol":"U"}]}`, `{"ports":[{"$patch":"delete","port":1}]}`, `{"ports":[{"port":2}]}`},
		{"replace the list", `{"items":[{"name":"a"},{"name":"b"}]}`, `{"items":[{"name":"o"},{"$patch":"replace"}]}`, `{"items":[{"name":"o"}]}`},
		{"empty the list", `{"items":[{"name":"a"}]}`, `{"items":[{"$patch":"replace"}]}`, `{"items":[]}`},
		{"merge with nothing", `{}`, `{"items":[{"$patch":"merge","name":"b"}],"item":{"$patch":"merge","name":"b"}}`, `{"items":[{"name":"b"}],"item":{"name":"b"}}`},
		{"order of objects", `{"items":[{"name":"only"}]}`, `{"$setElementOrder/items":[{"name":"z"},{"name":"only"}],"items":[{"name":"z"}]}`, `{"items":[{"name":"z"},{"name":"only"}]}`},
		{"order alone", `{"items":[{"name":"a"},{"name":"b"},{"name":"c"}]}`, `{"$setElementOrder/items":[{"name":"c"},{"name":"a"}]}`, `{"items":[{"name":"b"},{"name":"c"},{"name":"a"}]}`},
		{"order, new after those that stay", `{"items":[{"name":"b"},{"name":"c"},{"name":"d"}]}`, `{"$setElementOrder/items":[{"name":"b"},{"name":"a"}],"items":[{"$patch":"delete","name":"b"},{"name":"a"}]}`, `{"items":[{"name":"c"},{"name":"d"},{"name":"a"}]}`},
		{"order that is empty", `{"set":["a","b"]}`, `{"$setElementOrder/set":[],"set":["c"]}`, `{"set":["c","a","b"]}`},
		{"order of what is not there", `{}`, `{"$setElementOrder/items":[{"name":"a"}],"$setElementOrder/set":["a"]}`, `{}`},
		{"order of a list that does not merge", `{"plain":["a","b"]}`, `{"$setElementOrder/plain":["b","a"]}`, `{"plain":["a","b"]}`},
		{"the same key twice in the object", `{"ports":[{"port":53,"protocol":"T"},{"port":53,"protocol":"U"}]}`, `{"ports":[{"port":53,"protocol":"X"}]}`, `{"ports":[{"port":53,"protocol":"X"},{"port":53,"protocol":"U"}]}`},
		{"the same key twice in the patch", `{"ports":[{"port":53}]}`, `{"ports":[{"port":53,"protocol":"T"},{"port":53,"protocol":"U"}]}`, `{"ports":[{"port":53,"protocol":"U"}]}`},
		{"twice in a new list", `{}`, `{"$setElementOrder/ports":[{"port":53},{"port":53}],"ports":[{"port":53,"protocol":"T"},{"port":53,"protocol":"U"}]}`, `{"ports":[{"port":53,"protocol":"T"},{"port":53,"protocol":"U"}]}`},
		{"numbers and strings differ", `{"ports":[{"port":1}]}`, `{"ports":[{"port":"1"}]}`, `{"ports":[{"port":"1"},{"port":1}]}`},
		{"an element without key stays", `{"items":[{"value":"x"},{"name":"a"}]}`, `{"items":[{"name":"a","value":"y"}]}`, `{"items":[{"value":"x"},{"name":"a","value":"y"}]}`},
		{"null list", `{"items":null,"set":null}`, `{"items":[{"name":"a"}],"$setElementOrder/set":["a"],"set":["a"]}`, `{"items":[{"name":"a"}],"set":["a"]}`},
		{"null list stays", `{"set":null}`, `{"$deleteFromPrimitiveList/set":["a"]}`, `{"set":null}`},

		{"sets merge", `{"set":["a","b"],"numbers":[1,2]}`, `{"set":["c"],"numbers":[2,3]}`, `{"set":["c","a","b"],"numbers":[1,2,3]}`},
		{"sets hold a value once", `{"set":["a","b","a"]}`, `{"set":["c","c"]}`, `{"set":["c","a","b"]}`},
		{"delete from a set", `{"set":["a","b"],"numbers":[1,2]}`, `{"$deleteFromPrimitiveList/set":["a"],"$deleteFromPrimitiveList/numbers":[2,"1"]}`, `{"set":["b"],"numbers":[1]}`},
		{"delete and merge", `{"set":["a","b","c"]}`, `{"$deleteFromPrimitiveList/set":["a"],"$setElementOrder/set":["d","b","c"],"set":["d"]}`, `{"set":["d","b","c"]}`},
		{"delete from what is not there", `{}`, `{"$deleteFromPrimitiveList/set":["a"]}`, `{}`},
		{"delete from a list that does not merge", `{"plain":["a","b","a"]}`, `{"$deleteFromPrimitiveList/plain":["a"]}`, `{"plain":["b"]}`},
		{"order of a set", `{"set":["a","b","c"]}`, `{"$setElementOrder/set":["c","b"]}`, `{"set":["a","c","b"]}`},
		{"lists replace", `{"plain":["a"],"atomic":[{"name":"a"}]}`, `{"plain":["b","b"],"atomic":[{"name":"b","value":null}]}`, `{"plain":["b","b"],"atomic":[{"name":"b","value":null}]}`},

		{"nor new ones", `{}`, `{"atomic":[{"$patch":"bogus","name":"a"}]}`, `{"atomic":[{"$patch":"bogus","name":"a"}]}`},
		{"lists that replace have no directives", `{"atomic":[{"name":"a"}]}`, `{"atomic":[{"$patch":"delete","name":"a"},{"name":"b"}]}`, `{"atomic":[{"$patch":"delete","name":"a"},{"name":"b"}]}`},

		{"replace an object", `{"labels":{"a":"1"},"item":{"name":"a","value":"b"}}`, `{"labels":{"$patch":"replace","b":"2"},"item":{"$patch":"replace"}}`, `{"labels":{"b":"2"},"item":{}}`},
		{"delete an object", `{"labels":{"a":"1"}}`, `{"labels":{"$patch":"delete","b":"2"}}`, `{"labels":{}}`},
		{"replace everything", `{"name":"a","count":1}`, `{"$patch":"replace","name":"b","labels":null}`, `{"name":"b"}`},
		{"retain keys", `{"strategy":{"type":"Rolling","rolling":{"name":"a"}}}`, `{"strategy":{"$retainKeys":["type"],"type":"Recreate","rolling":null}}`, `{"strategy":{"type":"Recreate"}}`},
		{"retain keys of an element", `{"volumes":[{"name":"v","value":"a"}]}`, `{"volumes":[{"$retainKeys":["name","item"],"name":"v","item":{"name":"x"}}]}`, `{"volumes":[{"name":"v","item":{"name":"x"}}]}`},
		{"replaced as a whole", `{"selector":{"matchLabels":{"a":"1"}}}`, `{"selector":{"matchLabels":{"b":"2"}}}`, `{"selector":{"matchLabels":{"b":"2"}}}`},
		{"objects in a map merge", `{"byName":{"x":{"name":"a","set":["a"]}}}`, `{"byName":{"x":{"set":["b"]},"y":{"name":"c"}}}`, `{"byName":{"x":{"name":"a","set":["b","a"]},"y":{"name":"c"}}}`},

		{"directives in new parts", `{}`, `{"item":{"$retainKeys":["name","value","set","ports"],"name":"a","value":null,"$setElementOrder/set":["x"],"set":["x"],"$deleteFromPrimitiveList/set":[],"ports":[{"port":1},{"port":2,"$patch":"delete"},{"$patch":"replace"}]},"byName":{"x":{"name":null}},"strategy":{"$patch":"replace","type":"x"}}`,
			`{"item":{"name":"a","set":["x"],"ports":[{"port":1}]},"byName":{"x":{}},"strategy":{"type":"x"}}`},
		{"directives in a new map are keys", `{"labels":null}`, `{"labels":{"$patch":"delete","$retainKeys":["x"],"y":"1","z":null}}`, `{"labels":{"$patch":"delete","$retainKeys":["x"],"y":"1"}}`},
		{"other names with a dollar", `{"any":{"$ref":"a"}}`, `{"any":{"$ref":"b","$other/x":1}}`, `{"any":{"$ref":"b","$other/x":1}}`},
	} {
		got, err := Strategic([]byte(test.current), []byte(test.patch), table, rootType, document.Limits{}, nil)
		if err != nil {
			t.Errorf("%s: %v", test.what, err)
			continue
		}
		if string(sortedJSON(t, got)) != string(sortedJSON(t, []byte(test.want))) {
			t.Errorf("%s: %s with %s is\n%s, want\n%s", test.what, test.current, test.patch, got, test.want)
		}
	}
}

// TestStrategicOfRelease tries what 1.28 has changed: objects with $patch in members that the object does not have.
func TestStrategicOfRelease(t *testing.T) {
	newer := func(release string) bool { return release <= "1.28" }
	for _, test := range []struct{ what, current, patch, older, newer string }{
		{"new list that is replaced", `{}`, `{"atomic":[{"$patch":"replace"},{"name":"b"}]}`, `{"atomic":[{"$patch":"replace"},{"name":"b"}]}`, `{"atomic":[{"name":"b"}]}`},
		{"list that the object has", `{"atomic":[]}`, `{"atomic":[{"$patch":"replace"},{"name":"b"}]}`, `{"atomic":[{"$patch":"replace"},{"name":"b"}]}`, `{"atomic":[{"$patch":"replace"},{"name":"b"}]}`},
		{"list in place of something else", `{"any":{"a":1}}`, `{"any":[[{"$patch":5}],{"b":{"$patch":"merge"},"c":1}]}`, `{"any":[[{"$patch":5}],{"b":{"$patch":"merge"},"c":1}]}`, `{"any":[[],{"c":1}]}`},
		{"new object", `{}`, `{"item":{"$patch":"replace","name":"b"},"strategy":{"$retainKeys":["type"],"type":"x"}}`, `{"item":{"name":"b"},"strategy":{"type":"x"}}`, `{"strategy":{"type":"x"}}`},
		{"new map", `{}`, `{"labels":{"$patch":"delete","y":"1"}}`, `{"labels":{"$patch":"delete","y":"1"}}`, `{}`},
		{"new list that merges", `{}`, `{"items":[{"name":"a","item":{"$patch":"merge","name":"b"}},{"name":"c","$patch":"merge"}]}`, `{"items":[{"name":"a","item":{"name":"b"}},{"name":"c"}]}`, `{"items":[{"name":"a"}]}`},
		{"new element of a list that merges", `{"items":[]}`, `{"items":[{"name":"a","item":{"$patch":"replace","name":"b"}}]}`, `{"items":[{"name":"a","item":{"name":"b"}}]}`, `{"items":[{"name":"a","item":{"name":"b"}}]}`},
	} {
		for want, since := range map[*string]func(string) bool{&test.older: nil, &test.newer: newer} {
			got, err := Strategic([]byte(test.current), []byte(test.patch), testTable(), rootType, document.Limits{}, since)
			if err != nil || string(sortedJSON(t, got)) != string(sortedJSON(t, []byte(*want))) {
				t.Errorf("%s: %s with %s is\n%s %v, want\n%s", test.what, test.current, test.patch, got, err, *want)
			}
		}
	}
}

func TestStrategicErrors(t *testing.T) {
	table := testTable()
	current := `{"name":"a","labels":{"a":"1"},"item":{"name":"x","ports":[{"port":1}]},"items":[{"name":"a","ports":[{"port":1}]}],"set":["a"],"keyless":[{"name":"a"}],"count":1}`
	for patch, text := range map[string]string{
		`{"labels":{"$patch":"frob"}}`:                                     `labels: $patch is "frob", use replace or delete`,
		`{"$patch":5}`:                                                     `the patch: $patch is 5`,
		`{"strategy":{"$patch":"frob"}}`:                                   `strategy: $patch is "frob"`,
		`{"items":[{"name":"a"},{"$patch":"frob","name":"a"}]}`:            `items[1]: $patch is "frob"`,
		`{"items":[{"value":"x"}]}`:                                        `items: element 0 must have the merge key "name"`,
		`{"items":[{"name":{}}]}`:                                          `items: element 0 must have the merge key "name"`,
		`{"items":[{"name":null}]}`:                                        `items: element 0 must have the merge key "name"`,
		`{"items":[{"$patch":"delete"}]}`:                                  `items: element 0 must have the merge key "name"`,
		`{"items":[{"name":"z"},{"name":"a","ports":[{}]}]}`:               `items[1].ports: element 0 must have the merge key "port"`,
		`{"item":{"ports":[{"protocol":"x"}]}}`:                            `item.ports: element 0`,
		`{"items":["a"]}`:                                                  `items: all elements`,
		`{"items":[{"name":"a","$patch":"merge"}]}`:                        `items[0]: $patch is "merge", use replace or delete`,
		`{"item":{"name":"a","$patch":"merge"}}`:                           `item: $patch is "merge", use replace or delete`,
		`{"items":[null]}`:                                                 `items: all elements`,
		`{"set":[["a"]]}`:                                                  `set: all elements`,
		`{"set":[{"name":"a"}]}`:                                           `set: all elements`,
		`{"keyless":[{"name":"a"}]}`:                                       `keyless: the list cannot be merged`,
		`{"$setElementOrder/items":{}}`:                                    `items: $setElementOrder/items must be a list`,
		`{"$setElementOrder/items":null}`:                                  `items: $setElementOrder/items must be a list`,
		`{"$setElementOrder/items":[{"value":"x"}]}`:                       `items in $setElementOrder: element 0 must have the merge key "name"`,
		`{"$setElementOrder/items":[{"name":"b"}],"items":[{"name":"c"}]}`: `items: element 0 of the patch is not in $setElementOrder`,
		`{"$setElementOrder/set":["a","b"],"set":["b","a"]}`:               `set: element 1 of the patch is not in $setElementOrder`,
		`{"$setElementOrder/ports":[{"port":2},{"port":1}],"ports":[{"port":1},{"port":2}]}`: `ports: element 1`,
		`{"$setElementOrder":[]}`:                           `directive $setElementOrder must name a list`,
		`{"$deleteFromPrimitiveList/":[]}`:                  `directive $deleteFromPrimitiveList must name a list`,
		`{"$deleteFromPrimitiveList/set":"a"}`:              `set: $deleteFromPrimitiveList/set must be a list`,
		`{"$deleteFromPrimitiveList/items":[{"name":"a"}]}`: `items: $deleteFromPrimitiveList is for lists of plain values`,
		`{"$deleteFromPrimitiveList/count":[1]}`:            `count: the patch has list directives for it, but it is not a list`,
		`{"$setElementOrder/set":["a"],"set":"a"}`:          `set: the patch has list directives for it, but its value in the patch is not a list`,
		`{"item":{"$retainKeys":"name"}}`:                   `item: $retainKeys must be a list`,
		`{"item":{"$retainKeys":[{}]}}`:                     `item: $retainKeys must be a list`,
		`{"item":{"$retainKeys":["name"],"value":"x"}}`:     `item: the patch sets "value", add it to $retainKeys`,
	} {
		got, err := Strategic([]byte(current), []byte(patch), table, rootType, document.Limits{}, nil)
		if err == nil {
			t.Errorf("%s: accepted, %s", patch, got)
			continue
		}
		refusal(t, patch, err, 400, text)
	}
}

// TestRepeatedElements: the work for elements with the same key is bounded.
func TestRepeatedElements(t *testing.T) {
	current := fmt.Sprintf(`{"items":[{"name":"a","value":%q}]}`, strings.Repeat("x", 1<<20))
	patch := `{"items":[` + strings.Repeat(`{"name":"a"},`, 1000) + `{"name":"a"}]}`
	_, err := Strategic([]byte(current), []byte(patch), testTable(), rootType, document.Limits{}, nil)
	refusal(t, "repeated", err, 400, "too many elements with the same merge key")
}

// TestLargeLists: lists and objects are matched in linear time; this would
// take minutes otherwise.
func TestLargeLists(t *testing.T) {
	const n = 20_000
	var items, labels strings.Builder
	for i := range n {
		if i > 0 {
			items.WriteByte(',')
			labels.WriteByte(',')
		}
		fmt.Fprintf(&items, `{"name":"n%d"}`, i)
		fmt.Fprintf(&labels, `"n%d":"x"`, i)
	}
	current := fmt.Sprintf(`{"items":[%s],"labels":{%s}}`, items.String(), labels.String())
	patch := fmt.Sprintf(`{"$setElementOrder/items":[%[1]s],"items":[%[1]s],"labels":{%[2]s}}`, items.String(), labels.String())
	got, err := Strategic([]byte(current), []byte(patch), testTable(), rootType, document.Limits{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(sortedJSON(t, got)) != string(sortedJSON(t, []byte(current))) {
		t.Error("a patch with the same elements changed something")
	}
}
