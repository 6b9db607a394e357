package document

import "testing"

func TestFind(t *testing.T) {
	const text = `{"kind":"Pod","metadata":{"name":"a\"}","labels":{"a":"{","b\n":"x"},"n":-1.5},"spec":{"nodeName":"","list":[{"a":1},"]"]},"last":null}`
	for _, c := range []struct {
		path []string
		want string // "" for none
	}{
		{nil, text},
		{[]string{"kind"}, `"Pod"`},
		{[]string{"metadata", "name"}, `"a\"}"`},
		{[]string{"metadata", "labels"}, `{"a":"{","b\n":"x"}`},
		{[]string{"metadata", "labels", "b\n"}, `"x"`},
		{[]string{"metadata", "n"}, `-1.5`},
		{[]string{"spec", "nodeName"}, `""`},
		{[]string{"spec", "list"}, `[{"a":1},"]"]`},
		{[]string{"last"}, `null`},
		{[]string{"spec", "list", "a"}, ""},
		{[]string{"kind", "x"}, ""},
		{[]string{"status"}, ""},
		{[]string{"metadata", "nodeName"}, ""},
	} {
		got, ok := Find([]byte(text), c.path...)
		if ok != (c.want != "") || string(got) != c.want {
			t.Errorf("%q: got %q %t, want %q", c.path, got, ok, c.want)
		}
	}
}
