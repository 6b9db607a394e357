package selector

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// TestAgainstReference compares with the selectors of the client library on
// random labels, fields and selectors.
func TestAgainstReference(t *testing.T) {
	r := pods()
	keys := []string{"a", "aa", "b", "c.d/e", "z"}
	values := []string{"", "0", "1", "2", "10", "x", "a-b"}
	names := []string{"spec.nodeName", "status.phase", "spec.unschedulable"}
	rapid.Check(t, func(t *rapid.T) {
		set := rapid.MapOfN(rapid.SampledFrom(keys), rapid.SampledFrom(values), 0, 5).Draw(t, "labels")
		values2 := rapid.SliceOfN(rapid.SampledFrom(values), 3, 3).Draw(t, "fields")
		term := rapid.Custom(func(t *rapid.T) string {
			key, one := rapid.SampledFrom(keys).Draw(t, "key"), rapid.SampledFrom(values).Draw(t, "value")
			some := strings.Join(rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(t, "values"), ",")
			number := rapid.SampledFrom([]string{"0", "1", "5", "10"}).Draw(t, "number")
			return rapid.SampledFrom([]string{key, "!" + key, key + "=" + one, key + "!=" + one, key + " in (" + some + ")",
				key + " notin (" + some + ")", key + ">" + number, key + "<" + number}).Draw(t, "term")
		})
		labelText := strings.Join(rapid.SliceOfN(term, 0, 4).Draw(t, "terms"), ",")
		fieldTerm := rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom(names).Draw(t, "name") + rapid.SampledFrom([]string{"=", "==", "!="}).Draw(t, "op") + rapid.SampledFrom(values).Draw(t, "value")
		})
		fieldText := strings.Join(rapid.SliceOfN(fieldTerm, 0, 3).Draw(t, "fieldTerms"), ",")

		object := strings.Builder{}
		object.WriteString(`{"metadata":{"labels":{`)
		n := 0
		for k, v := range set {
			if n++; n > 1 {
				object.WriteByte(',')
			}
			fmt.Fprintf(&object, "%q:%q", k, v)
		}
		fmt.Fprintf(&object, `}},"spec":{"nodeName":%q,"unschedulable":%q},"status":{"phase":%q}}`, values2[0], values2[2], values2[1])
		d, err := document.DecodeAny([]byte(object.String()), document.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		meta := AppendMeta(nil, d.Root(), r.Selectable)
		d.Release()

		wantLabels, err := labels.Parse(labelText)
		if err != nil { // such as "a in (,,)"
			if _, err := parsed(labelText, "", r); err == nil {
				t.Fatalf("%q is accepted", labelText)
			}
			return
		}
		wantFields, err := fields.ParseSelector(fieldText)
		if err != nil {
			t.Fatal(err)
		}
		s, err := parsed(labelText, fieldText, r)
		if err != nil {
			t.Fatal(err)
		}
		fieldSet := fields.Set{names[0]: values2[0], names[1]: values2[1], names[2]: values2[2]}
		want := wantLabels.Matches(labels.Set(set)) && wantFields.Matches(fieldSet)
		if got := matches(t, s, "core/pods/n/x", meta); got != want {
			t.Fatalf("labels %q fields %q on %s: %v, want %v", labelText, fieldText, object.String(), got, want)
		}
	})
}

func FuzzMatches(f *testing.F) {
	f.Add("core/pods/n/a", header(f, `{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"nodeName":"x"}}`, pods()))
	f.Add("", []byte{})
	f.Add("a", []byte{1, 4, 0, 0, 0, 200, 1, 'a', 0})
	f.Add("/", []byte{1, 10, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	var selectors []*Selector
	for _, text := range [][2]string{{"a=1,b!=3,!c,d>3", "metadata.name!=x,spec.nodeName!=y,status.replicas!=7"}, {"a=1", ""}, {"", "spec.nodeName=x,spec.unschedulable=true"}} {
		s, err := parsed(text[0], text[1], pods())
		if err != nil {
			f.Fatal(err)
		}
		selectors = append(selectors, s)
	}
	negative, err := parsed("!zzz", "spec.nodeName!=zzz", pods())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, key string, meta []byte) {
		for _, s := range selectors {
			matches(t, s, key, meta)
		}
		if len(meta) > 0 && meta[0] != metaVersion && negative.Matches(key, meta) {
			t.Errorf("a header of version %d matches", meta[0])
		}
		_ = checkHeader(meta)
	})
}

func FuzzNew(f *testing.F) {
	f.Add("a=1,b in (2,3),!c", `metadata.name=a\,b,spec.nodeName!=x`)
	f.Add("a>1", "=")
	f.Add("\x00", "\\")
	meta := header(f, `{"metadata":{"labels":{"a":"1"}}}`, pods())
	f.Fuzz(func(t *testing.T, labelText, fieldText string) {
		s, err := parsed(labelText, fieldText, pods())
		if err != nil {
			var refused *api.Error
			if !errors.As(err, &refused) || refused.Code != 400 {
				t.Errorf("not a 400: %v", err)
			}
			return
		}
		matched := matches(t, s, "core/pods/n/a", meta)
		if s.Everything() && !matched {
			t.Error("Everything does not match")
		}
	})
}
