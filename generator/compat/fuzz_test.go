package compat

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// mutation changes a field of the specification of orders, at random. It reports whether it
// applied.
type mutation func(r *rand.Rand, field *yaml.Node) bool

// value is the value of a key of a mapping, nil for none.
func value(n *yaml.Node, key string) *yaml.Node {
	for i := 0; n != nil && i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func set(n *yaml.Node, key, text string) bool {
	var v yaml.Node
	if yaml.Unmarshal([]byte(text), &v) != nil {
		return false
	}
	if at := value(n, key); at != nil {
		*at = *v.Content[0]
		return true
	}
	n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: key}, v.Content[0])
	return true
}

func drop(n *yaml.Node, key string) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = append(n.Content[:i], n.Content[i+2:]...)
			return true
		}
	}
	return false
}

// shift changes a number that is there.
func shift(keys ...string) func(by int) mutation {
	return func(sign int) mutation {
		return func(r *rand.Rand, n *yaml.Node) bool {
			for _, key := range keys {
				var at int
				if v := value(n, key); v != nil && v.Decode(&at) == nil && at+sign*4 > 0 {
					return set(n, key, fmt.Sprint(at+sign*(1+r.IntN(3))))
				}
			}
			return false
		}
	}
}

var lower, upper = shift("minimum", "minLength", "minItems"), shift("maximum", "maxLength", "maxItems")

// compatible are mutations that nobody notices.
var compatible = map[string]mutation{
	"a lower bound goes down": lower(-1), "an upper bound goes up": upper(1),
	"an upper bound goes": func(_ *rand.Rand, n *yaml.Node) bool {
		return drop(n, "maxLength") || drop(n, "maxItems")
	},
	"other words": func(r *rand.Rand, n *yaml.Node) bool {
		return set(n, "description", fmt.Sprintf("Text number %d of many.", r.IntN(99)))
	},
	"an enum grows": func(r *rand.Rand, n *yaml.Node) bool {
		v := value(n, "enum")
		if v == nil {
			return false
		}
		v.Content = append(v.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint("New", r.IntN(9))})
		r.Shuffle(len(v.Content), func(i, j int) { v.Content[i], v.Content[j] = v.Content[j], v.Content[i] })
		return true
	},
	"a pattern goes": func(_ *rand.Rand, n *yaml.Node) bool { return drop(n, "pattern") },
	"a pattern is wider": func(_ *rand.Rand, n *yaml.Node) bool {
		return value(n, "pattern") != nil && set(n, "pattern", `"^[a-z0-9]{1,9}$"`)
	},
	"a named check goes": func(_ *rand.Rand, n *yaml.Node) bool { return drop(n, "x-cluster-format") },
	"a named check widens": func(_ *rand.Rand, n *yaml.Node) bool {
		return value(n, "x-cluster-format") != nil && set(n, "x-cluster-format", "dns1123-subdomain")
	},
	"a list may repeat": func(_ *rand.Rand, n *yaml.Node) bool { return drop(n, "x-cluster-unique") },
	"keys are reordered": func(r *rand.Rand, n *yaml.Node) bool {
		for i := 2; i+1 < len(n.Content); i += 2 {
			j := 2 * r.IntN(i/2+1)
			n.Content[i], n.Content[j] = n.Content[j], n.Content[i]
			n.Content[i+1], n.Content[j+1] = n.Content[j+1], n.Content[i+1]
		}
		return true
	},
}

// breaking are mutations that break clients. Where the experiment cannot see it (patches,
// ownership, updates) the verdict has to be there all the same.
var breaking = map[string]mutation{
	"a lower bound goes up": lower(1), "an upper bound goes down": upper(-1),
	"an enum shrinks": func(r *rand.Rand, n *yaml.Node) bool {
		v := value(n, "enum")
		if v == nil || value(n, "default") != nil {
			return false
		}
		i := r.IntN(len(v.Content))
		v.Content = append(v.Content[:i], v.Content[i+1:]...)
		return true
	},
	"a pattern is narrower": func(r *rand.Rand, n *yaml.Node) bool {
		return value(n, "pattern") != nil && set(n, "pattern", pick(r, `"^[a-z]{1,7}$"`, `"^[b-z]{1,8}$"`, `"^[a-z]{2,8}$"`, `"z"`))
	},
	"a default changes": func(r *rand.Rand, n *yaml.Node) bool {
		return value(n, "default") != nil && value(n, "type").Value == "integer" && set(n, "default", fmt.Sprint(31+r.IntN(9)))
	},
	"a type changes": func(r *rand.Rand, n *yaml.Node) bool {
		t := value(n, "type")
		return t != nil && len(n.Content) == 4 && set(n, "type", map[string]string{"string": "boolean", "boolean": "integer", "integer": "string"}[t.Value])
	},
	"the binary number changes": func(r *rand.Rand, n *yaml.Node) bool { return set(n, "x-cluster-binary", fmt.Sprint(100+r.IntN(90))) },
	"it cannot change": func(_ *rand.Rand, n *yaml.Node) bool {
		return value(n, "x-cluster-immutable") == nil && set(n, "x-cluster-immutable", "true")
	},
	"it is rounded": func(_ *rand.Rand, n *yaml.Node) bool {
		f := value(n, "format")
		return f != nil && f.Value == "quantity" && set(n, "x-cluster-round-up", "true")
	},
	"zero is kept": func(_ *rand.Rand, n *yaml.Node) bool {
		t := value(n, "type")
		return t != nil && t.Value == "string" && value(n, "x-cluster-presence") == nil && value(n, "default") == nil && value(n, "format") == nil && set(n, "x-cluster-presence", "explicit")
	},
}

// FuzzVerdict applies a random change, or two compatible ones, and checks the verdict of the
// gate by that of the generator of changes and by an experiment.
func FuzzVerdict(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	base := readBase(f)
	folder, old := write(f, base), loaded(f, base, nil)
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		kinds, breaks := compatible, seed%2 == 0
		if breaks {
			kinds = breaking
		}
		text, said := mutate(t, r, base[order], kinds, breaks)
		if text == "" {
			return
		}
		files := edited(t, base, []edit{{order, "", text}})
		dir := write(t, files)
		now, err := Documents(dir)
		if err != nil {
			return // the generator refuses the change
		}
		report := Compare(old, now, Options{Now: day})
		switch got := verdict(report.Findings); {
		case breaks && !report.Breaking():
			t.Errorf("%s: not found, %q", said, got)
		case !breaks && got != "":
			t.Errorf("%s: false alarm %q: %v", said, got, report.Findings)
		}
		e := newExperiment(seed, folder, dir, old)
		if why := e.broken(60); why != "" && !report.Breaking() {
			t.Errorf("%s: not found, and the experiment breaks: %s", said, why)
		}
	})
}

// mutate changes one field of the specification, with numbers written out so that places do
// not matter.
func mutate(t testing.TB, r *rand.Rand, text string, kinds map[string]mutation, once bool) (changed, said string) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	fields := value(value(value(doc.Content[0], "$defs"), "OrderSpec"), "properties")
	names := sorted(kinds)
	for range 200 {
		at := 2 * r.IntN(len(fields.Content)/2)
		name := names[r.IntN(len(names))]
		field := fields.Content[at+1]
		if once && fields.Content[at].Value == "state" || !kinds[name](r, field) {
			continue
		}
		if strings.Contains(name, "binary") && at+2 < len(fields.Content) { // the next field keeps its number
			set(fields.Content[at+3], "x-cluster-binary", fmt.Sprint(at/2+2))
		}
		out, err := yaml.Marshal(&doc)
		if err != nil {
			return "", ""
		}
		return string(out), fields.Content[at].Value + ": " + name
	}
	return "", ""
}
