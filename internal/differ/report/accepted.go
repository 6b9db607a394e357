package report

import (
	"fmt"
	"os"
	"regexp"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/internal/differ/compare"
	"github.com/capstan-dev/capstan/internal/differ/scenario"
)

// Rule says that differences with a matching signature are meant.
type Rule struct {
	Match  string `json:"match"` // regular expression on the signature
	Reason string `json:"reason"`
	Got    string `json:"got,omitempty"`  // regular expression on what the server under test said, where the signature is not enough
	Path   string `json:"path,omitempty"` // regular expression on the path and query of the request

	re, got, path *regexp.Regexp
	used          int
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
		for _, x := range []struct {
			re   **regexp.Regexp
			text string
		}{{&r.re, r.Match}, {&r.got, r.Got}, {&r.path, r.Path}} {
			if *x.re, err = regexp.Compile(x.text); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return a, nil
}

// Reason says why a difference is meant; empty when it is not.
func (a *Accepted) Reason(d compare.Diff, st *scenario.Step) string {
	if a == nil {
		return ""
	}
	for _, r := range a.Rules {
		if r.re.MatchString(d.Signature) && r.got.MatchString(d.Got) && r.path.MatchString(st.Path) {
			r.used++
			return r.Reason
		}
	}
	return ""
}

// Unused lists the rules that matched nothing.
func (a *Accepted) Unused() []string {
	var out []string
	for _, r := range a.Rules {
		if r.used == 0 {
			out = append(out, r.Match)
		}
	}
	return out
}
