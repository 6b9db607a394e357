package rbac

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// right is one right of a rule: a verb on a resource, perhaps by name, or on a path.
type right struct {
	verb, group, resource, name string
	named                       bool
	path                        string
	isPath                      bool
}

// covers reports whether the rule gives a right.
func (r *rule) covers(w *right) bool {
	if !r.hasVerb(w.verb, verbBit(w.verb)) {
		return false
	}
	if w.isPath {
		return r.hasPath(w.path)
	}
	base, sub, _ := strings.Cut(w.resource, "/")
	return r.hasGroup(w.group) && r.hasResource(base, sub) && (len(r.names) == 0 || w.named && slices.Contains(r.names, w.name))
}

// mostComparisons bounds the comparisons of the words of rules, since a rule stands for
// the product of its lists.
const mostComparisons = 10_000_000

// words is the number of words in the lists of a rule.
func (r *rule) words() int {
	return 1 + len(r.verbs) + len(r.groups) + len(r.resources) + len(r.names) + len(r.paths)
}

// each visits the rights of a rule until visit returns false.
func (r *rule) each(visit func(w *right) bool) bool {
	names, named := r.names, true
	if len(names) == 0 {
		names, named = []string{""}, false
	}
	for _, group := range r.groups {
		for _, resource := range r.resources {
			for _, verb := range r.verbs {
				for _, name := range names {
					if !visit(&right{verb: verb, group: group, resource: resource, name: name, named: named}) {
						return false
					}
				}
			}
		}
	}
	for _, path := range r.paths {
		for _, verb := range r.verbs {
			if !visit(&right{verb: verb, path: path, isPath: true}) {
				return false
			}
		}
	}
	return true
}

// missingRights are the rights in wanted that none of the rules in has gives. An error
// means that there are too many to compare.
func missingRights(has, wanted []rule) (missing []right, err error) {
	steps := 0
	for i := range wanted {
		done := wanted[i].each(func(w *right) bool {
			for i := range has {
				if steps += has[i].words(); has[i].covers(w) {
					return steps < mostComparisons
				}
			}
			if len(missing) < maxMissingRights {
				missing = append(missing, *w)
			}
			steps++
			return steps < mostComparisons
		})
		if !done && len(missing) == 0 {
			return nil, errors.New("its rules stand for too many combinations to compare them with the user's; split it into several roles, or use a user with the verb \"escalate\" on it")
		}
	}
	return missing, nil
}

// describeRights lists rights as 1.25 does: the verbs on a resource together, in the order of
// the texts.
func describeRights(rights []right) string {
	type simple struct {
		group, resource, name string
		named                 bool
	}
	verbs := map[simple][]string{}
	var lines []string
	for _, w := range rights {
		if w.isPath {
			lines = append(lines, "{NonResourceURLs:"+quoted(w.path)+", Verbs:"+quoted(w.verb)+"}")
			continue
		}
		s := simple{w.group, w.resource, w.name, w.named}
		verbs[s] = append(verbs[s], w.verb)
	}
	for s, of := range verbs {
		line := "{APIGroups:" + quoted(s.group) + ", Resources:" + quoted(s.resource)
		if s.named {
			line += ", ResourceNames:" + quoted(s.name)
		}
		lines = append(lines, line+", Verbs:"+quoted(of...)+"}")
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	if len(lines) > maxLines {
		lines = append(lines[:maxLines], "and more")
	}
	return strings.Join(lines, "\n")
}

// maxMissingRights and maxLines bound the rights and the lines of a refusal.
const (
	maxMissingRights = 10_000
	maxLines         = 256
)

// quoted writes texts as a list: ["get" "list"].
func quoted(texts ...string) string {
	all := make([]string, len(texts))
	for i, t := range texts {
		all[i] = strconv.Quote(t)
	}
	return "[" + strings.Join(all, " ") + "]"
}
