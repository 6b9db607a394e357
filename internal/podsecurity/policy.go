// Package podsecurity judges pods by the levels of the Pod Security Standards: which
// settings a pod may have, at a level, as of a release.
package podsecurity

import (
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Level is a set of rules; each has those of the levels before it.
type Level uint8

// The levels.
const (
	Privileged Level = iota // no rules
	Baseline
	Restricted
)

var levels = [...]string{"privileged", "baseline", "restricted"}

func (l Level) String() string { return levels[l] }

// ParseLevel reads a level; the one of an error is the strictest.
func ParseLevel(text string) (Level, error) {
	for i, name := range levels {
		if name == text {
			return Level(i), nil
		}
	}
	return Restricted, errors.New("must be one of " + strings.Join(levels[:], ", "))
}

// Version is the release whose rules count: 0 for the newest, else one more than its
// minor number.
type Version int

// newest is the version of the newest rules.
const newest = 25 + 1

var versionForm = regexp.MustCompile(`^v1\.([0-9]|[1-9][0-9]*)$`)

// ParseVersion reads a version; that of an error is the newest.
func ParseVersion(text string) (Version, error) {
	if text == "latest" {
		return 0, nil
	}
	if m := versionForm.FindStringSubmatch(text); m != nil {
		if minor, err := strconv.ParseInt(m[1], 10, 62); err == nil {
			return Version(minor + 1), nil
		}
	}
	return 0, errors.New(`must be "latest" or "v1.x"`)
}

func (v Version) String() string {
	if v == 0 {
		return "latest"
	}
	return "v1." + strconv.Itoa(int(v)-1)
}

// Future reports whether the version is newer than all rules.
func (v Version) Future() bool { return v > newest }

// Rules are those of a level, as of a version.
type Rules struct {
	Level
	Version
}

func (r Rules) String() string { return r.Level.String() + ":" + r.Version.String() }

// Policy is the rules of a namespace. The zero value allows everything.
type Policy struct{ Enforce, Audit, Warn Rules }

// Privileged reports whether the policy has no rules at all.
func (p *Policy) Privileged() bool {
	return p.Enforce.Level|p.Audit.Level|p.Warn.Level == Privileged
}

// Equivalent reports whether two policies have the same rules.
func (p *Policy) Equivalent(other *Policy) bool {
	for i, m := range p.modes() {
		o := other.modes()[i].rules
		if m.rules.Level != o.Level || m.rules.Level != Privileged && m.rules.Version != o.Version {
			return false
		}
	}
	return true
}

// String shows the modes that have rules.
func (p *Policy) String() string {
	var parts []string
	for _, m := range p.modes() {
		if m.rules.Level != Privileged {
			parts = append(parts, m.name+"="+m.rules.String())
		}
	}
	if parts == nil {
		return levels[Privileged]
	}
	return strings.Join(parts, ", ")
}

type mode struct {
	name  string
	rules *Rules
	opens bool // an unknown level is none
}

func (p *Policy) modes() [3]mode {
	return [...]mode{{"enforce", &p.Enforce, false}, {"audit", &p.Audit, true}, {"warn", &p.Warn, true}}
}

// LabelPrefix is that of the labels of namespaces, and of annotations in audit events.
const LabelPrefix = "pod-security." + profile.LabelDomain + "/"

// Mistake is a label with a wrong value.
type Mistake struct{ Label, Value, Why string }

// Field is the path of the label in a namespace.
func (m Mistake) Field() string { return "metadata.labels[" + m.Label + "]" }

// Message is the mistake in the words of validation.
func (m Mistake) Message() string { return fmt.Sprintf("Invalid value: %q: %s", m.Value, m.Why) }

// Of returns the policy of a namespace with the labels, whose others are the defaults,
// and the mistakes in them, for which strict rules stand in.
func Of(labels iter.Seq2[string, string], defaults Policy) (Policy, []Mistake) {
	var found [6]*string // level and version of each mode
	for key, value := range labels {
		name, ours := strings.CutPrefix(key, LabelPrefix)
		if !ours {
			continue
		}
		for i, m := range defaults.modes() {
			switch name {
			case m.name:
				found[2*i] = &value
			case m.name + "-version":
				found[2*i+1] = &value
			}
		}
	}
	p := defaults
	var mistakes []Mistake
	note := func(label, value string, err error) {
		if err != nil {
			mistakes = append(mistakes, Mistake{LabelPrefix + label, value, err.Error()})
		}
	}
	for i, m := range p.modes() {
		var err error
		if text := found[2*i]; text != nil {
			if m.rules.Level, err = ParseLevel(*text); err != nil && m.opens {
				m.rules.Level = Privileged
			}
			note(m.name, *text, err)
		}
		if text := found[2*i+1]; text != nil {
			m.rules.Version, err = ParseVersion(*text)
			note(m.name+"-version", *text, err)
		}
	}
	return p, mistakes
}
