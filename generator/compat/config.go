package compat

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Config is a configuration file: levels that differ from the usual ones, and findings that
// a maintainer has accepted.
type Config struct {
	Levels   map[string]Level
	Accepted []Acceptance
	file     string
}

// Acceptance is a finding that a maintainer has decided about. It counts until a day, and
// has to match a finding.
type Acceptance struct {
	Rule    string
	Element string // as findings name it; with * at the end all that begin so
	Reason  string
	Until   string // 2027-01-31
	line    int
}

// ReadConfig reads a configuration file. A rule or a level that does not exist is an error,
// and so is an accepted finding without a reason or an end. The rules are those of this
// package, or the named ones.
func ReadConfig(path string, rules ...string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseConfig(path, text, rules)
}

func parseConfig(path string, text []byte, rules []string) (*Config, error) {
	c := &Config{file: path}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s:%d: %s; the keys are levels and accepted", path, lineOf(err), strings.TrimPrefix(err.Error(), "yaml: "))
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", path, lineOf(err), err)
	}
	help := "one of " + strings.Join(rules, ", ")
	if rules == nil {
		help = "one of those that capstan-gen compat --rules lists"
		for _, r := range Rules() {
			rules = append(rules, r.ID)
		}
	}
	var errs []error
	for _, id := range sorted(c.Levels) {
		if !slices.Contains(rules, id) {
			errs = append(errs, fmt.Errorf("%s:%d: there is no rule %q; write %s", path, lineIn(&root, "levels", id), id, help))
		}
		if !slices.Contains([]Level{Error, Warning, Note, Off}, c.Levels[id]) {
			errs = append(errs, fmt.Errorf("%s:%d: there is no level %q; write error, warning, note or off", path, lineIn(&root, "levels", id), c.Levels[id]))
		}
	}
	for i := range c.Accepted {
		a := &c.Accepted[i]
		a.line = lineIn(&root, "accepted", i)
		_, err := time.Parse(dateForm, a.Until)
		switch {
		case !slices.Contains(rules, a.Rule):
			errs = append(errs, fmt.Errorf("%s:%d: there is no rule %q; write %s", path, a.line, a.Rule, help))
		case a.Element == "" || strings.TrimSpace(a.Reason) == "":
			errs = append(errs, fmt.Errorf("%s:%d: an accepted finding needs its element and a reason; add them", path, a.line))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s:%d: the end %q of an accepted finding is not a date; write until: 2027-01-31", path, a.line, a.Until))
		}
	}
	return c, errors.Join(errs...)
}

// lineOf is the line that a mistake in YAML names.
func lineOf(err error) int {
	line := 1
	if at := strings.Index(err.Error(), "line "); at >= 0 {
		_, _ = fmt.Sscanf(err.Error()[at:], "line %d", &line)
	}
	return line
}

// lineIn is the line of a key, or of an element, of a key of a document.
func lineIn(root *yaml.Node, key string, at any) int {
	if len(root.Content) == 0 {
		return 1
	}
	n := root.Content[0]
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value != key {
			continue
		}
		switch in := n.Content[i+1]; at := at.(type) {
		case int:
			if at < len(in.Content) {
				return in.Content[at].Line
			}
		case string:
			for j := 0; j < len(in.Content); j += 2 {
				if in.Content[j].Value == at {
					return in.Content[j].Line
				}
			}
		}
	}
	return 1
}

// Level changes the level of a finding to the configured one.
func (c *Config) Level(f *Finding) {
	if level := c.Levels[f.Rule]; level != "" {
		f.Level = level
	}
}

// Accept moves the accepted findings of a report away, and adds findings about acceptances
// that match nothing or are over.
func (c *Config) Accept(r *Report, today time.Time) {
	for i := range c.Accepted {
		a := &c.Accepted[i]
		matches := func(f Finding) bool {
			prefix, all := strings.CutSuffix(a.Element, "*")
			return f.Rule == a.Rule && (f.Element == a.Element || all && strings.HasPrefix(f.Element, prefix))
		}
		stale := Finding{Rule: "acceptance-stale", Level: Error, File: c.file, Line: a.line, Element: a.Element,
			Why: "the list of accepted findings is to show what is accepted today"}
		switch {
		case !slices.ContainsFunc(append(r.Findings, r.Accepted...), matches):
			stale.What, stale.Mend = "is accepted for "+a.Rule+" and not found any more", "remove it from the accepted findings"
			r.Findings = append(r.Findings, stale)
		case a.Until < today.Format(dateForm):
			stale.What, stale.Mend = "was accepted for "+a.Rule+" until "+a.Until, "take the change back, or decide anew"
			r.Findings = append(r.Findings, stale)
		default:
			for _, f := range r.Findings {
				if matches(f) {
					r.Accepted = append(r.Accepted, f)
				}
			}
			r.Findings = slices.DeleteFunc(r.Findings, matches)
		}
	}
}
