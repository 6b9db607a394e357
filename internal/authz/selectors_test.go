package authz

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSelectorsOfRequests(t *testing.T) {
	for text, want := range map[string][]Requirement{
		"":                     nil,
		"a=b":                  {{"a", "In", []string{"b"}}},
		"spec.nodeName==n,x!=": {{"spec.nodeName", "In", []string{"n"}}, {"x", "NotIn", []string{""}}},
	} {
		got, err := ParseFields(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("fields %q: %v %s", text, err, diff)
		}
	}
	for text, want := range map[string][]Requirement{
		"":                         nil,
		"a=b,c in (y,x),!d,e":      {{"a", "In", []string{"b"}}, {"c", "In", []string{"x", "y"}}, {"d", "DoesNotExist", nil}, {"e", "Exists", nil}},
		"a!=b,c notin (x),n>3,m<4": {{"a", "NotIn", []string{"b"}}, {"c", "NotIn", []string{"x"}}},
	} {
		got, err := ParseLabels(text)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("labels %q: %v %s", text, err, diff)
		}
	}
	long := "a=" + strings.Repeat("b", maxSelector)
	for name, parse := range map[string]func(string) ([]Requirement, error){"fields": ParseFields, "labels": ParseLabels} {
		for _, text := range []string{long, "a=b=c,,=", "a in ("} {
			if got, err := parse(text); err == nil && name == "labels" || got != nil && err != nil {
				t.Errorf("%s %.20q: %v, %v", name, text, got, err)
			}
		}
		if got, err := parse(long); got != nil || err == nil {
			t.Errorf("%s: a long one is read: %d", name, len(got))
		}
	}
}

func TestSelectorsOfReviews(t *testing.T) {
	in := func(key string, values ...string) Requirement { return Requirement{key, "In", values} }
	for name, c := range map[string]struct {
		check       func([]Requirement) ([]Requirement, error)
		asked, want []Requirement
		err         string
	}{
		"field":         {CheckFields, []Requirement{in("a", "b"), {"c", "NotIn", []string{"d"}}}, []Requirement{in("a", "b"), {"c", "NotIn", []string{"d"}}}, ""},
		"two values":    {CheckFields, []Requirement{in("a", "b", "c"), in("d", "e")}, []Requirement{in("d", "e")}, "multiple values"},
		"exists":        {CheckFields, []Requirement{{"a", "Exists", nil}}, nil, "do not yet support Exists"},
		"no value":      {CheckFields, []Requirement{in("a")}, nil, "one value"},
		"labels":        {CheckLabels, []Requirement{in("a", "b", "c"), {"d", "Exists", nil}}, []Requirement{in("a", "b", "c"), {"d", "Exists", nil}}, ""},
		"new operator":  {CheckLabels, []Requirement{{"a", "Near", []string{"b"}}, in("d", "e")}, []Requirement{in("d", "e")}, `"Near" is not a valid label selector operator`},
		"no label":      {CheckLabels, []Requirement{in("a", "b c")}, nil, "a valid label must be"},
		"exists, value": {CheckLabels, []Requirement{{"a", "Exists", []string{"b"}}}, nil, "values set must be empty"},
	} {
		got, err := c.check(c.asked)
		if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}
