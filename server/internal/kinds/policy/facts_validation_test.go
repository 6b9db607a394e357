package policy_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// violations are the ways to break a rule at a path, tried separately; nil for a rule
// about several values.
func violations(rule string) []func(spot) {
	put := func(values ...any) (all []func(spot)) {
		for _, v := range values {
			all = append(all, func(s spot) { s.set(v) })
		}
		return all
	}
	word, argument, _ := strings.Cut(rule, " ")
	argument, _, _ = strings.Cut(argument, ";")
	number, _ := strconv.Atoi(argument)
	switch {
	case rule == "required":
		return put("", map[string]any{}, nothing{})
	case word == "max-len":
		return put(strings.Repeat("a", number+1))
	case word == "min":
		return put(number - 1)
	case word == "max":
		return put(number + 1)
	case word == "exclusive-min":
		return put(number)
	case word == "range":
		least, most, _ := strings.Cut(argument, "-")
		low, err1 := strconv.Atoi(least)
		high, err2 := strconv.Atoi(most)
		if err1 != nil || err2 != nil {
			return nil
		}
		return put(low-1, high+1)
	case word == "min-items":
		empty := func(s spot) {
			if s.list != nil {
				s.list([]any{})
			} else {
				s.set([]any{})
			}
		}
		return append(put("", map[string]any{}), empty)
	case word == "max-items":
		return []func(spot){func(s spot) {
			if l, _ := s.value.([]any); len(l) > 0 {
				s.set(slices.Repeat(l[:1], number+1))
			}
		}}
	case strings.HasPrefix(rule, "one-of("), slices.Contains([]string{"dns1123-label", "dns1123-subdomain", "dns1035-label", "qualified-name",
		"label-value", "config-key", "env-var-name", "ip", "cidr", "http-header-name", "absolute-path", "starts-with"}, word):
		return put("-a b")
	case rule == "quantity", rule == "rfc3339-time", rule == "base64", rule == "percent-string", rule == "label-selector",
		rule == "one-of selector operators", strings.HasPrefix(rule, "equals "), strings.HasPrefix(rule, "matches "):
		return put("-a b")
	case rule == "non-empty":
		return put(map[string]any{}, []any{}, "")
	case rule == "required-if operator=In,NotIn":
		return put(nothing{})
	case rule == "unique":
		return []func(spot){func(s spot) {
			if l, _ := s.value.([]any); len(l) > 0 {
				s.set(append(l, l[0]))
			} else {
				s.twice()
			}
		}}
	case rule == "no-slash":
		return put("a/b")
	}
	return nil
}

// conditionFact matches a condition that names the one change of the fact.
var conditionFact = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9.\[\]]*)=(".*|<absent>|\{\}|\[\]|-?[0-9]+)$`)

// names reports whether the field of a refusal is that of the fact: 1.25's field or the
// changed one, or the list or the map that it is in.
func names(r harness.FactRow, field string) bool {
	paths := []string{r["path"]}
	if m := conditionFact.FindStringSubmatch(r["condition"]); m != nil {
		paths = append(paths, m[1])
	}
	for _, p := range paths {
		inside, _ := strings.CutSuffix(p, "[]")
		if dot := strings.LastIndexByte(p, '.'); dot >= 0 && slices.Contains([]string{"matchLabels", "labels", "nodeSelector", "selector"}, p[strings.LastIndexByte(p[:dot], '.')+1:dot]) {
			inside = p[:dot]
		}
		if (r["rule"] == "label-selector" || r["rule"] == "unique") && strings.HasPrefix(p, field+".") {
			return true // the whole is not a selector, or has repeated elements
		}
		if (strings.HasPrefix(r["rule"], "one-of") || inside != p) && strings.LastIndexByte(p, '.') == len(field) && strings.HasPrefix(p, field) {
			return true // the object of unknown type, or with a wrong element in a list
		}
		if r["rule"] == "unique" && strings.HasPrefix(field, p) {
			return true // the key of a repeated element
		}
		if r["rule"] == "http-header-name" && strings.HasPrefix(p, field+"[]") {
			return true // headers are refused at their list
		}
		if field == p || field == inside || field == "*" || strings.HasSuffix(r["condition"], "={}") && strings.HasPrefix(field, p+".") {
			return true
		}
	}
	return false
}

// longText is text that the facts shorten: its beginning and its length.
var longText = regexp.MustCompile(`^"(a+)\.\.([0-9]+)$`)

// change makes the change that a condition names; ok is false if it names none.
func change(root map[string]any, condition string) (ok bool) {
	m := conditionFact.FindStringSubmatch(condition)
	if m == nil {
		return false
	}
	at := find(root, m[1], 0)
	if at.made {
		return false
	}
	if l := longText.FindStringSubmatch(m[2]); l != nil {
		n, _ := strconv.Atoi(l[2])
		at.set(strings.Repeat("a", n-2))
		return true
	}
	if m[2] == "<absent>" {
		at.set(nothing{})
		return true
	}
	var v any
	if json.Unmarshal([]byte(m[2]), &v) != nil {
		return false
	}
	at.set(v)
	return true
}

// inapplicable are facts that the examples only seem to have, with the reason.
var inapplicable = map[string]string{
	"core/v1.Pod spec.volumes[].projected.sources unique":                        "it is about their paths, which the rows of their items try",
	"rbac.authorization.k8s.io/v1.RoleBinding subjects[].name dns1123-subdomain": "service accounts only",
	"storage.k8s.io/v1.CSIDriver metadata.name max-len 63":                       "1.25 creates one with a longer name",
	"rbac.authorization.k8s.io/v1.RoleBinding subjects[].name max-len 253":       "service accounts only",
}

// Reasons why facts of validation are skipped.
const (
	elsewhere   = "they are of all kinds, or of a version that is not stored"
	notOfChange = "their condition is not a change of one value"
	notOfValue  = "their rule is not one that a single wrong value breaks"
	noPlace     = "the examples have nothing that the value would be in"
	noValue     = "the examples have no such value, and one that is added is refused elsewhere or not at all"
	special     = "they hold for other values than those of the examples"
)

// skippedValidations are the facts of validation that no example tries. Their rules are
// tested in server/internal/kinds/policy.
var skippedValidations = skips{
	elsewhere:   29,
	notOfChange: 22,
	notOfValue:  144,
	noPlace:     90,
	noValue:     26,
	special:     3,
}

func TestFactsOfValidation(t *testing.T) {
	resources, known, skipped := storedKinds(), examples{}, skips{}
	for _, r := range harness.FactTable(t, "../../../../generator/internal/facts/testdata/validation.tsv") {
		res := resources[r["gv"]+"."+r["kind"]]
		if res == nil {
			skipped.add(t, elsewhere, r)
			continue
		}
		r["path"] = plainPath(r["path"])
		all, sure := violate(t, res, r, known.of(t, res))
		switch {
		case len(all) > 0 && slices.ContainsFunc(all[len(all)-1], func(field string) bool { return names(r, field) }):
		case inapplicable[String(r)] != "":
			skipped.add(t, special, r)
		case sure && all != nil:
			t.Errorf("%v: refused %v", r, all)
		case all != nil:
			skipped.add(t, noValue, r)
		case r["condition"] != "-" && conditionFact.FindStringIndex(r["condition"]) == nil:
			skipped.add(t, notOfChange, r)
		case r["condition"] == "-" && violations(r["rule"]) == nil:
			skipped.add(t, notOfValue, r)
		default:
			skipped.add(t, noPlace, r)
		}
	}
	skipped.compare(t, skippedValidations)
}

// violate breaks the rule of a fact in the examples of the kind, in all known ways until
// one is refused as it should be, and returns the refused fields of each try. It is sure
// when an example has the values of the fact; else the rule may not apply.
func violate(t *testing.T, res *api.Resource, r harness.FactRow, examples [][]byte) (all [][]string, sure bool) {
	for _, example := range examples {
		try := func(change func(root map[string]any) bool) {
			var root map[string]any
			if len(all) > 0 && slices.ContainsFunc(all[len(all)-1], func(field string) bool { return names(r, field) }) {
				return
			}
			if err := json.Unmarshal(example, &root); err != nil {
				t.Fatal(err)
			}
			if !change(root) {
				return
			}
			text, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, refusals(res, text, nil))
		}
		if r["condition"] != "-" {
			try(func(root map[string]any) bool {
				if find(root, r["path"], 0).value != nil {
					sure = true
				}
				return change(root, r["condition"])
			})
			continue
		}
		for _, breakIt := range violations(r["rule"]) {
			for skip := range 3 {
				try(func(root map[string]any) bool {
					at := find(root, r["path"], skip)
					if at.made {
						return false
					}
					sure = sure || at.value != nil
					breakIt(at)
					return true
				})
			}
		}
	}
	return all, sure
}
