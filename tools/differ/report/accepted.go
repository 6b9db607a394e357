package report

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"sync/atomic"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/tools/differ/compare"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Rule accepts differences with a matching signature. A rule without a signature accepts
// no difference: it marks requests that leave an object in different states.
type Rule struct {
	Match    string `json:"match,omitempty"`   // regular expression on the signature
	Request  string `json:"request,omitempty"` // regular expression on the request, like "DELETE pods", of a rule without a signature
	Reason   string `json:"reason"`
	Got      string `json:"got,omitempty"`     // regular expression on the answer of the server under test, where the signature is not enough
	Path     string `json:"path,omitempty"`    // regular expression on the path and query of the request
	Accept   string `json:"accept,omitempty"`  // regular expression on its Accept header
	Sent     string `json:"sent,omitempty"`    // regular expression on its body
	NotSent  string `json:"notSent,omitempty"` // regular expression that its body must not match
	Diverges bool   `json:"diverges,omitempty"`
	Refused  bool   `json:"refused,omitempty"` // the request leaves different states although both sides refuse it

	match, request, got, path, accept, sent, notSent *regexp.Regexp

	used atomic.Bool
}

// Accepted is the list of rules.
type Accepted struct {
	Rules []*Rule `json:"rules"`
}

// LoadAccepted reads rules; without a file there are none.
func LoadAccepted(file string) (*Accepted, error) {
	a := &Accepted{}
	if file == "" {
		return a, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(b, a); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, r := range a.Rules {
		if r.Reason == "" {
			return nil, fmt.Errorf("%s: rule %q has no reason", file, r.Match)
		}
		if (r.Match == "") != (r.Request != "" && (r.Diverges || r.Refused)) {
			return nil, fmt.Errorf("%s: the rule of %q has neither a signature nor a request that diverges, or both", file, r.Reason)
		}
		for _, x := range []struct {
			re   **regexp.Regexp
			text string
		}{{&r.match, r.Match}, {&r.request, r.Request}, {&r.got, r.Got}, {&r.path, r.Path}, {&r.accept, r.Accept}, {&r.sent, r.Sent}, {&r.notSent, r.NotSent}} {
			if *x.re, err = regexp.Compile(x.text); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return a, nil
}

// Reason is the reason why a difference is accepted; empty when it is not.
func (a *Accepted) Reason(d compare.Diff, st *scenario.Step) string {
	if a == nil {
		return ""
	}
	for _, r := range a.Rules {
		if r.accepts(d, st) {
			return r.Reason
		}
	}
	return ""
}

// Diverges reports whether by a rule a write, with or without such a difference, leaves
// its object in different states.
func (a *Accepted) Diverges(st *scenario.Step, diffs []compare.Diff) bool {
	if a == nil {
		return false
	}
	for _, r := range a.Rules {
		switch {
		case !r.Diverges:
		case r.Match == "":
			if r.asked(st) {
				return true
			}
		default:
			for _, d := range diffs {
				if r.accepts(d, st) {
					return true
				}
			}
		}
	}
	return false
}

// RefusedDiverges reports whether by a rule a write that both sides refuse leaves its object
// in different states.
func (a *Accepted) RefusedDiverges(st *scenario.Step) bool {
	return a != nil && slices.ContainsFunc(a.Rules, func(r *Rule) bool { return r.Refused && r.asked(st) })
}

// asked reports whether a rule about requests is about such a one.
func (r *Rule) asked(st *scenario.Step) bool {
	t := compare.TargetOf(st)
	return r.request.MatchString(t.Verb+" "+t.Resource) && r.about(st)
}

func (r *Rule) accepts(d compare.Diff, st *scenario.Step) bool {
	return r.Match != "" && r.match.MatchString(d.Signature) && r.got.MatchString(d.Got) && r.about(st)
}

// about reports whether a rule is about such a request, which uses it.
func (r *Rule) about(st *scenario.Step) bool {
	body := st.Payload(nil)
	yes := r.path.MatchString(st.Path) && r.accept.MatchString(st.Headers["Accept"]) && r.sent.Match(body) && (r.NotSent == "" || !r.notSent.Match(body))
	if yes {
		r.used.Store(true)
	}
	return yes
}

// Unused lists the rules that matched nothing.
func (a *Accepted) Unused() []string {
	var out []string
	for _, r := range a.Rules {
		if !r.used.Load() {
			out = append(out, r.Match+r.Request)
		}
	}
	return out
}
