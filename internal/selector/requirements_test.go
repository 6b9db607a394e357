package selector

import (
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

func TestRequirements(t *testing.T) {
	for _, c := range []struct{ selector, labels, text string }{
		{`{}`, `{}`, "all"},
		{`{}`, `{"a":"b"}`, "all"},
		{`{"matchLabels":{"a":"b"}}`, `{"a":"b","c":"d"}`, "selected"},
		{`{"matchLabels":{"a":"b"}}`, `{"a":"c"}`, "not"},
		{`{"matchLabels":{"a":"b"}}`, `{}`, "not"},
		{`{"matchLabels":{"a":"","b":""}}`, `{"a":"","b":""}`, "selected"},
		{`{"matchExpressions":[{"key":"a","operator":"In","values":["z","b"]}]}`, `{"a":"b"}`, "selected"},
		{`{"matchExpressions":[{"key":"a","operator":"In","values":["z","b"]}]}`, `{"a":"c"}`, "not"},
		{`{"matchExpressions":[{"key":"a","operator":"NotIn","values":["z","b"]}]}`, `{"a":"b"}`, "not"},
		{`{"matchExpressions":[{"key":"a","operator":"NotIn","values":["z","b"]}]}`, `{}`, "selected"},
		{`{"matchExpressions":[{"key":"a","operator":"Exists"}]}`, `{"a":""}`, "selected"},
		{`{"matchExpressions":[{"key":"a","operator":"Exists"}]}`, `{"b":""}`, "not"},
		{`{"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]}`, `{"a":""}`, "not"},
		{`{"matchLabels":{"c":"d"},"matchExpressions":[{"key":"a","operator":"DoesNotExist"}]}`, `{"c":"d"}`, "selected"},
		{`{"matchExpressions":[{"key":"a","operator":"Near","values":["b"]}]}`, `{"a":"b"}`, "never"},
		{`{"matchExpressions":[{"key":"a","operator":"Near"}]}`, `{}`, "never"},
	} {
		read := func(text string) document.Value {
			doc, err := document.DecodeAny([]byte(text), document.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			return doc.Root()
		}
		s := read(c.selector)
		got := ReadRequirements(s).Match(ReadLabels(read(c.labels)))
		if want := c.text == "all" || c.text == "selected"; got != want {
			t.Errorf("%s with %s: %v, want %v", c.selector, c.labels, got, want)
		}
		if checked, err := Checked(s); (err != nil) != (c.text == "never") || err == nil && checked.Empty() != (c.text == "all") {
			t.Errorf("%s is checked as %v, %v", c.selector, checked, err)
		}
	}
}
