package load

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// demands reads rules across the members of an object.
func (r *reader) demands(to *[]schema.Demand) func(node) {
	return func(n node) {
		for _, item := range r.items(n) {
			var d schema.Demand
			var cause string
			r.object(item, "a rule", map[string]func(node){
				"if": r.tests(&d.If), "was": r.tests(&d.Was), "then": r.tests(&d.Then),
				"cause": r.word(&cause, "cause", sortedKeys(reasons)...), "at": r.text(&d.At), "why": r.text(&d.Why),
				"hides": r.text(&d.Hides), "each": r.way(&d.Each), "shows": r.way(&d.Shows),
				"shown": func(n node) {
					var text []byte
					r.json(&text)(n)
					d.Shown = string(text)
				},
			})
			d.Cause = reasons[cause]
			explained := func(t schema.Test) bool {
				reason := d.Reason(&t)
				return reason == schema.CauseRequired || reason == schema.CauseNotSupported
			}
			switch {
			case len(d.Then) == 0:
				r.fail(item.pos(), "add then", "a rule that demands nothing")
			case d.Why == "" && d.Then[0].Is != schema.Formed && !slices.ContainsFunc(d.Then, explained):
				r.fail(item.pos(), "add why", "a rule that does not say what is wrong")
			}
			*to = append(*to, d)
		}
	}
}

var reasons = map[string]string{"invalid": schema.CauseInvalid, "required": schema.CauseRequired, "forbidden": schema.CauseForbidden, "unsupported": schema.CauseNotSupported, "duplicate": schema.CauseDuplicate}

// tests reads questions about members: {spec.type: [A, B], name: set}.
func (r *reader) tests(to *[]schema.Test) func(node) {
	return func(n node) {
		for _, e := range r.entries(n) {
			t := schema.Test{Path: strings.Split(e.key, ".")}
			switch e.value.Kind {
			case yaml.SequenceNode:
				t.Is = schema.In
				r.texts(&t.Values)(e.value)
			case yaml.MappingNode:
				r.object(e.value, "a test", map[string]func(node){
					"not":     func(n node) { t.Is = schema.NotIn; r.texts(&t.Values)(n) },
					"atLeast": func(n node) { t.Is = schema.AtLeast; r.way(&t.Than)(n) },
					"format": func(n node) {
						t.Is, t.Values = schema.Formed, make([]string, 1)
						r.word(&t.Values[0], "named check", document.Formats()...)(n)
					},
				})
			default:
				if t.Is = conditions[e.value.Value]; t.Is == 0 {
					r.fail(e.value.pos(), suggest(e.value.Value, sortedKeys(conditions))+"; values are a list: ["+e.value.Value+"]", "unknown condition %q", e.value.Value)
				}
			}
			*to = append(*to, t)
		}
	}
}

// way reads the path of a member.
func (r *reader) way(to *[]string) func(node) {
	return func(n node) {
		var text string
		r.text(&text)(n)
		*to = strings.Split(text, ".")
	}
}

var conditions = map[string]schema.Condition{"set": schema.Set, "unset": schema.Unset, "filled": schema.Filled, "empty": schema.Empty, "same": schema.Same,
	"text": schema.Text, "number": schema.Digits, "single": schema.Single}
