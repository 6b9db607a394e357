package bootstrap

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Verdict is the due change of an existing object.
type Verdict uint8

// The verdicts.
const (
	Keep    Verdict = iota // it is as wanted, or its owner keeps it as it is
	Update                 // it was changed in place and has to be written
	Replace                // an immutable part differs: delete it and create it anew
)

// Reconcile adds to current, an existing role or binding, the missing parts of want:
// labels, annotations, rules that none of its own covers, subjects and selectors. Its
// other parts stay. The annotation named autoupdate with the value "false" keeps an
// object as it is.
func Reconcile(current, want document.Value, autoupdate string) Verdict {
	if current.At("metadata", "annotations", autoupdate).Equals("false") {
		return Keep
	}
	if ref := want.Get("roleRef"); ref.Exists() && !document.Equal(ref, current.Get("roleRef")) {
		return Replace
	}
	changed := false
	for _, name := range [...]string{"labels", "annotations"} {
		for key, v := range want.At("metadata", name).Members() {
			if !current.At("metadata", name, key).Exists() {
				current.Get("metadata").SetObject(name).Put(key, v)
				changed = true
			}
		}
	}
	if want.Get("aggregationRule").Exists() {
		if addMissing(current.SetObject("aggregationRule"), want.Get("aggregationRule"), "clusterRoleSelectors") {
			changed = true
		}
	} else if addRules(current, want.Get("rules")) {
		changed = true
	}
	if addMissing(current, want, "subjects") {
		changed = true
	}
	if changed {
		return Update
	}
	return Keep
}

// addMissing appends the elements of a list of want that current's does not have.
func addMissing(current, want document.Value, name string) bool {
	changed := false
	for _, v := range want.Get(name).Elements() {
		if !contains(current.Get(name), v) {
			current.SetArray(name).AppendValue(v)
			changed = true
		}
	}
	return changed
}

func contains(list, v document.Value) bool {
	for _, have := range list.Elements() {
		if document.Equal(have, v) {
			return true
		}
	}
	return false
}

// addRules appends the rules that those of current do not cover.
func addRules(current, want document.Value) bool {
	changed := false
	for _, rule := range want.Elements() {
		if !covered(current.Get("rules"), rule) {
			current.SetArray("rules").AppendValue(rule)
			changed = true
		}
	}
	return changed
}

// covered reports whether rules grant everything that a rule grants: each combination of
// its verbs with its resources, or with its URLs.
func covered(rules, rule document.Value) bool {
	for _, verb := range rule.Get("verbs").Elements() {
		for _, url := range rule.Get("nonResourceURLs").Elements() {
			if !someRule(rules, func(r document.Value) bool {
				return names(r.Get("verbs"), verb.Text()) && matchesURL(r.Get("nonResourceURLs"), url.Text())
			}) {
				return false
			}
		}
		for _, group := range rule.Get("apiGroups").Elements() {
			for _, resource := range rule.Get("resources").Elements() {
				if !coversResource(rules, verb.Text(), group.Text(), resource.Text(), rule.Get("resourceNames")) {
					return false
				}
			}
		}
	}
	return true
}

// coversResource reports whether rules grant a verb on a resource, for all objects or, if
// only has names, for each of these.
func coversResource(rules document.Value, verb, group, resource string, only document.Value) bool {
	allows := func(r document.Value) bool {
		return names(r.Get("verbs"), verb) && names(r.Get("apiGroups"), group) && matchesResource(r.Get("resources"), resource)
	}
	everything := func(r document.Value) bool { return allows(r) && r.Get("resourceNames").Len() == 0 }
	if only.Len() == 0 {
		return someRule(rules, everything)
	}
	for _, name := range only.Elements() {
		one := func(r document.Value) bool { return allows(r) && r.Get("resourceNames").HasText(name.Text()) }
		if !someRule(rules, everything) && !someRule(rules, one) {
			return false
		}
	}
	return true
}

func someRule(rules document.Value, is func(document.Value) bool) bool {
	for _, r := range rules.Elements() {
		if is(r) {
			return true
		}
	}
	return false
}

// names is HasText with a star for everything.
func names(list document.Value, s string) bool { return list.HasText("*") || list.HasText(s) }

// matchesResource is names with "*/scale" for one subresource of everything.
func matchesResource(list document.Value, resource string) bool {
	_, sub, ok := strings.Cut(resource, "/")
	return names(list, resource) || ok && list.HasText("*/"+sub)
}

// matchesURL is names with a star at the end of a path for all below.
func matchesURL(list document.Value, url string) bool {
	for _, v := range list.Elements() {
		text := v.Text()
		if before, ok := strings.CutSuffix(text, "*"); text == url || ok && strings.HasPrefix(url, before) {
			return true
		}
	}
	return false
}
