package load

import (
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/internal/schema"
)

// demands reads rules across the members of an object.
func (r *reader) demands(s *schema.Schema) func(node) {
	return func(n node) {
		for i, item := range r.items(n) {
			r.places[s][ruleKey(i)] = item.pos()
			var d schema.Demand
			r.object(item, r.demandKeys(&d))
			explained := func(t schema.Test) bool {
				reason := d.Reason(&t)
				return reason == schema.CauseRequired || reason == schema.CauseNotSupported
			}
			switch {
			case len(d.Then) == 0 && d.Finds == "":
				r.fail(item.pos(), "add then or finds", "a rule that demands nothing")
			case d.Finds != "" && (d.Then != nil || d.Why != ""):
				r.fail(item.pos(), "write two rules; the expression gives the message", "a rule with finds, and then or why")
			case d.Finds != "":
			case d.Why == "" && d.Then[0].Is != schema.Formed && !slices.ContainsFunc(d.Then, explained):
				r.fail(item.pos(), "add why", "a rule that does not say what is wrong")
			}
			s.Rules = append(s.Rules, d)
		}
	}
}

func (r *reader) demandKeys(d *schema.Demand) map[string]func(node) {
	return map[string]func(node){
		"if": r.tests(&d.If), "was": r.tests(&d.Was), "then": r.tests(&d.Then), "at": r.text(&d.At), "why": r.text(&d.Why),
		"hides": r.text(&d.Hides), "finds": r.text(&d.Finds), "turn": r.text(&d.Turn), "each": r.way(&d.Each), "shows": r.way(&d.Shows),
		"lifecycle": r.readLifecycle(new(schema.Lifecycle)), // present has applied it
		"cause":     func(n node) { d.Cause = schema.Reasons[n.Value] },
		"shown": func(n node) {
			var text []byte
			r.json(&text)(n)
			d.Shown = string(text)
		},
	}
}

// ruleKey is the key for the place of a rule.
func ruleKey(i int) string { return "x-cluster-rules " + strconv.Itoa(i) }

// tests reads questions about members: {spec.type: [A, B], name: set}.
func (r *reader) tests(to *[]schema.Test) func(node) {
	return func(n node) {
		for _, e := range r.entries(n) {
			t := schema.Test{Path: schema.Steps(e.key)}
			switch e.value.Kind {
			case yaml.SequenceNode:
				t.Is = schema.In
				r.texts(&t.Values)(e.value)
			case yaml.MappingNode:
				r.object(e.value, r.testKeys(&t))
			default:
				t.Is = conditions[e.value.Value]
			}
			*to = append(*to, t)
		}
	}
}

func (r *reader) testKeys(t *schema.Test) map[string]func(node) {
	return map[string]func(node){
		"not":     func(n node) { t.Is = schema.NotIn; r.texts(&t.Values)(n) },
		"atLeast": func(n node) { t.Is = schema.AtLeast; r.way(&t.Than)(n) },
		"atMost":  func(n node) { t.Is = schema.AtMost; r.way(&t.Than)(n) },
		"above":   func(n node) { t.Is = schema.Above; r.way(&t.Than)(n) },
		"equals":  func(n node) { t.Is = schema.Equals; r.way(&t.Than)(n) },
		"most":    func(n node) { t.Is = schema.Below; r.integer(&t.Most)(n) },
		"bytes":   func(n node) { t.Is = schema.Short; r.integer(&t.Most)(n) },
		"only":    func(n node) { t.Is = schema.Only; r.texts(&t.Values)(n) },
		"has":     func(n node) { t.Is = schema.Contains; r.texts(&t.Values)(n) },
		"lacks":   func(n node) { t.Is = schema.Lacks; r.texts(&t.Values)(n) },
		"format": func(n node) {
			t.Is, t.Values = schema.Formed, make([]string, 1)
			r.text(&t.Values[0])(n)
		},
	}
}

// way reads the path of a member.
func (r *reader) way(to *[]string) func(node) {
	return func(n node) {
		var text string
		r.text(&text)(n)
		*to = schema.Steps(text)
	}
}

var conditions = map[string]schema.Condition{"set": schema.Set, "unset": schema.Unset, "filled": schema.Filled, "empty": schema.Empty, "same": schema.Same,
	"grown": schema.Grown, "text": schema.Text, "number": schema.Digits, "single": schema.Single}
