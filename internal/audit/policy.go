package audit

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/authz"
)

// Level says how much of a request an event shows.
type Level uint8

// The levels.
const (
	None            Level = iota // the request has no events
	Metadata                     // the user, the time, the object, the code
	Request                      // the body of the request too
	RequestResponse              // the body of the answer too
)

var levelNames = []string{None: "None", Metadata: "Metadata", Request: "Request", RequestResponse: "RequestResponse"}

// String is the level's name in policies and events.
func (l Level) String() string { return levelNames[l] }

// Stage is the part of a request that an event is about.
type Stage uint8

// The stages, in their order.
const (
	RequestReceived  Stage = iota
	ResponseStarted        // of requests that last
	ResponseComplete       // the last one,
	Panic                  // or this
)

var stageNames = []string{RequestReceived: "RequestReceived", ResponseStarted: "ResponseStarted", ResponseComplete: "ResponseComplete", Panic: "Panic"}

// Stages is a set of stages.
type Stages uint8

func (s Stages) has(one Stage) bool { return s&(1<<one) != 0 }

// Rule is how the requests that it matches are recorded. A part that is empty matches all.
type Rule struct {
	Level             Level
	Omit              Stages
	OmitManagedFields bool
	users, groups     []string
	verbs, namespaces []string
	resources         []resources
	paths             []string
}

// resources are resources of one group: none for all, "pods", "pods/log", "pods/*",
// "*/log" or "*".
type resources struct {
	group   string
	names   []string
	objects []string
}

// Policy is a list of rules, of which the first that matches decides.
type Policy struct{ rules []Rule }

// standard is the policy when none is given: it shows nothing of any body.
var standard = Policy{rules: []Rule{{Level: Metadata, Omit: 1 << RequestReceived}}}

// Rule is how a request is recorded. Without a matching rule it is not.
func (p *Policy) Rule(a *authz.Attributes) *Rule {
	for i := range p.rules {
		if p.rules[i].matches(a) {
			return &p.rules[i]
		}
	}
	return &unmatched
}

var unmatched Rule

func (r *Rule) matches(a *authz.Attributes) bool {
	switch {
	case len(r.users) > 0 && (a.User == nil || !slices.Contains(r.users, a.User.Name)):
		return false
	case len(r.groups) > 0 && (a.User == nil || !slices.ContainsFunc(a.User.Groups, func(g string) bool { return slices.Contains(r.groups, g) })):
		return false
	case len(r.verbs) > 0 && !slices.Contains(r.verbs, a.Verb):
		return false
	case len(r.namespaces) > 0 || len(r.resources) > 0:
		return a.ResourceRequest && (len(r.namespaces) == 0 || slices.Contains(r.namespaces, a.Namespace)) &&
			(len(r.resources) == 0 || slices.ContainsFunc(r.resources, func(some resources) bool { return some.match(a) }))
	case len(r.paths) > 0:
		return !a.ResourceRequest && slices.ContainsFunc(r.paths, func(path string) bool { return samePath(path, a.Path) })
	}
	return true
}

func (some *resources) match(a *authz.Attributes) bool {
	if some.group != a.Group {
		return false
	}
	return len(some.names) == 0 || (len(some.objects) == 0 || slices.Contains(some.objects, a.Name)) &&
		slices.ContainsFunc(some.names, func(name string) bool { return sameResource(name, a) })
}

func sameResource(name string, a *authz.Attributes) bool {
	plural, sub, below := strings.Cut(name, "/")
	switch {
	case name == "*":
		return true
	case !below:
		return plural == a.Resource && a.Subresource == ""
	case plural == "*":
		return sub == a.Subresource && sub != ""
	}
	return plural == a.Resource && (sub == "*" || sub == a.Subresource)
}

// samePath reports whether a path is the wanted one, or begins with the text before its *.
func samePath(want, path string) bool {
	start, open := strings.CutSuffix(want, "*")
	return want == path || open && strings.HasPrefix(path, start)
}
