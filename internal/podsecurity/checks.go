package podsecurity

import (
	"iter"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// check is one rule. Where it changes with a version it is several.
type check struct {
	level        Level
	since, until int  // minor versions, until is the first without it; 0 for all
	replaced     int  // at the level restricted it does not count from this minor version on, which a stricter one covers; 0 for never, -1 for always
	linux        bool // as of 1.25 it does not count for pods of Windows
	reason       string
	// judge returns the details of a violation, and how many things it counts; "" and 0
	// for none. A reason that is a plural gets an "s" then, if it has "(s)".
	judge func(p pod) (detail string, n int)
}

// checks are all rules, in the order in which violations are listed.
var checks = []check{
	{level: Baseline, reason: "forbidden AppArmor profile(s)", judge: appArmor},
	{level: Baseline, reason: "non-default capabilities", replaced: 22,
		judge: addedCapabilities(`must not include %v in securityContext.capabilities.add`, baselineCapabilities)},
	{level: Baseline, reason: "host namespaces", judge: hostNamespaces},
	{level: Baseline, reason: "hostPath volumes", replaced: -1, judge: hostPaths},
	{level: Baseline, reason: "hostPort", judge: hostPorts},
	{level: Baseline, reason: "privileged", judge: setting{path: []string{"privileged"}, right: []string{"false"},
		wrong: "must not set securityContext.privileged=true"}.judge},
	{level: Baseline, reason: "procMount", judge: setting{path: []string{"procMount"}, right: []string{"Default"},
		wrong: "must not set securityContext.procMount to %v"}.judge},
	{level: Baseline, reason: "seLinuxOptions", judge: seLinux},
	{level: Baseline, reason: "seccompProfile", until: 19, judge: seccompAnnotations},
	{level: Baseline, reason: "seccompProfile", since: 19, replaced: 19, judge: seccomp("")},
	{level: Baseline, reason: "seccompProfile", since: 19, judge: namelessProfiles},
	{level: Baseline, reason: "forbidden sysctls", judge: sysctls},
	{level: Baseline, reason: "hostProcess", judge: setting{path: []string{"windowsOptions", "hostProcess"}, pod: true, right: []string{"false"},
		wrong: "must not set securityContext.windowsOptions.hostProcess=true"}.judge},
	{level: Restricted, reason: "allowPrivilegeEscalation != false", since: 8, linux: true,
		judge: setting{path: []string{"allowPrivilegeEscalation"}, right: []string{"false"}, needed: true,
			wrong: "must set securityContext.allowPrivilegeEscalation=false"}.judge},
	{level: Restricted, reason: "unrestricted capabilities", since: 22, linux: true, judge: restrictedCapabilities},
	{level: Restricted, reason: "restricted volume types", judge: restrictedVolumes},
	{level: Restricted, reason: "runAsNonRoot != true", judge: setting{path: []string{"runAsNonRoot"}, pod: true, right: []string{"true"},
		wrong: "must not set securityContext.runAsNonRoot=false", missing: "must set securityContext.runAsNonRoot=true"}.judge},
	{level: Restricted, reason: "runAsUser=0", since: 23, judge: setting{path: []string{"runAsUser"}, pod: true, bad: "0",
		wrong: "must not set runAsUser=0"}.judge},
	{level: Restricted, reason: "seccompProfile", since: 19, linux: true,
		judge: seccomp(`must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`)},
}

// applies reports whether the check is one of the rules.
func (c *check) applies(level Level, minor int, p pod) bool {
	switch {
	case c.level > level, minor < c.since, c.until > 0 && minor >= c.until:
		return false
	case level == Restricted && c.replaced != 0 && minor >= c.replaced:
		return false
	}
	return !c.linux || minor < 25 || !p.spec.At("os", "name").Equals("windows")
}

// Violations are the rules that a pod breaks.
type Violations []Violation

// Violation is a broken rule.
type Violation struct{ Reason, Detail string }

// Evaluate judges a pod, or the template of one.
func Evaluate(r Rules, metadata, spec document.Value) (all Violations) {
	minor := int(min(r.Version, newest)) - 1
	if r.Version == 0 {
		minor = newest - 1
	}
	p := pod{metadata, spec}
	for i := range checks {
		c := &checks[i]
		if !c.applies(r.Level, minor, p) {
			continue
		}
		if detail, n := c.judge(p); n > 0 {
			reason, plural := strings.CutSuffix(c.reason, "(s)")
			if plural && n > 1 {
				reason += "s"
			}
			all = append(all, Violation{reason, detail})
		}
	}
	return all
}

// Reasons are the broken rules without details.
func (v Violations) Reasons() string {
	return v.join(func(one Violation) string { return one.Reason })
}

func (v Violations) String() string {
	return v.join(func(one Violation) string {
		if one.Detail == "" {
			return one.Reason
		}
		return one.Reason + " (" + one.Detail + ")"
	})
}

func (v Violations) join(show func(Violation) string) string {
	parts := make([]string, len(v))
	for i, one := range v {
		parts[i] = show(one)
	}
	return strings.Join(parts, ", ")
}

// pod is a pod, or the template of one.
type pod struct{ metadata, spec document.Value }

func (p pod) containers() iter.Seq[document.Value] {
	return func(yield func(document.Value) bool) {
		for _, list := range [...]string{"initContainers", "containers", "ephemeralContainers"} {
			for _, c := range p.spec.Get(list).Elements() {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// set is a set of texts in the order of messages.
type set []string

func (s *set) add(text string) {
	if i, there := slices.BinarySearch(*s, text); !there {
		*s = slices.Insert(*s, i, text)
	}
}

// quoted shows texts.
func quoted(texts []string) string { return `"` + strings.Join(texts, `", "`) + `"` }

// counted is a word for n things; a plural that differs by more than an s is named.
func counted(n int, one string, many ...string) string {
	switch {
	case n == 1:
		return one
	case len(many) > 0:
		return many[0]
	}
	return one + "s"
}

// containers shows containers by their names.
func containers(names []string) string {
	return counted(len(names), "container") + " " + quoted(names)
}

const appArmorPrefix = "container.apparmor.security.beta." + profile.LabelDomain + "/"
