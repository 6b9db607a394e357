package compat

import (
	"cmp"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Formats lists the forms in which a report can be written.
func Formats() []string { return []string{"human", "json", "junit", "sarif", "github"} }

// Write writes the report in one of the Formats.
func (r *Report) Write(w io.Writer, format string) error {
	switch format {
	case "human":
		return r.human(w)
	case "json":
		return r.json(w)
	case "junit":
		return r.junit(w)
	case "sarif":
		return r.sarif(w)
	case "github":
		return r.github(w)
	}
	return fmt.Errorf("there is no format %q; write one of %s", format, strings.Join(Formats(), ", "))
}

// count counts the findings of a level.
func (r *Report) count(level Level) int {
	n := 0
	for _, f := range r.Findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// Summary is the result in one line.
func (r *Report) Summary() string {
	text := fmt.Sprintf("%d errors, %d warnings", r.count(Error), r.count(Warning))
	if len(r.Accepted) > 0 {
		text += fmt.Sprintf(", %d accepted", len(r.Accepted))
	}
	if r.Tool != "" {
		return text
	}
	return text + fmt.Sprintf("; %d resources, %d fields, %d rules compared", r.Counts.Resources, r.Counts.Fields, r.Counts.Rules)
}

func (r *Report) human(w io.Writer) error {
	for _, f := range r.Findings {
		if _, err := fmt.Fprintln(w, f); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.Summary())
	return err
}

func (r *Report) json(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{
		"old": r.Old, "new": r.New, "breaking": r.Breaking(),
		"findings": jsonOf(r.Findings), "accepted": jsonOf(r.Accepted),
		"compared": map[string]int{"resources": r.Counts.Resources, "fields": r.Counts.Fields, "rules": r.Counts.Rules},
	})
}

func jsonOf(findings []Finding) []map[string]any {
	all := make([]map[string]any, 0, len(findings))
	for _, f := range findings {
		all = append(all, map[string]any{"rule": f.Rule, "level": f.Level, "file": f.File, "line": f.Line, "element": f.Element,
			"what": f.What, "direction": f.Direction, "why": f.Why, "mend": f.Mend})
	}
	return all
}

// junit has a case for each rule, which fails with its findings that are errors.
func (r *Report) junit(w io.Writer) error {
	type failure struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	type testcase struct {
		Name     string    `xml:"name,attr"`
		Class    string    `xml:"classname,attr"`
		Failures []failure `xml:"failure"`
		Out      string    `xml:"system-out,omitempty"`
	}
	suite := struct {
		XMLName  xml.Name   `xml:"testsuite"`
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Cases    []testcase `xml:"testcase"`
	}{Name: "compat"}
	ids := []string{"acceptance-stale", "comparison-shrunk"}
	for _, rule := range Rules() {
		ids = append(ids, rule.ID)
	}
	for _, id := range ids {
		c := testcase{Name: id, Class: "compat"}
		for _, f := range r.Findings {
			switch {
			case f.Rule != id:
			case f.Level == Error:
				c.Failures = append(c.Failures, failure{f.Text(), id, f.String()})
			default:
				c.Out += f.String() + "\n"
			}
		}
		if len(c.Failures) > 0 {
			suite.Failures++
		}
		suite.Cases = append(suite.Cases, c)
	}
	suite.Tests = len(suite.Cases)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

// sarif is the form of code scanners, SARIF 2.1.0.
func (r *Report) sarif(w io.Writer) error {
	type object = map[string]any
	level := map[Level]string{Error: "error", Warning: "warning", Note: "note"}
	var rules, results []object
	for _, rule := range r.rules() {
		rules = append(rules, object{"id": rule.ID, "shortDescription": object{"text": rule.Why}, "help": object{"text": rule.Mend},
			"defaultConfiguration": object{"level": level[rule.Level]}})
	}
	results = []object{}
	for _, f := range slices.Concat(r.Findings, r.Accepted) {
		result := object{"ruleId": f.Rule, "level": level[f.Level], "message": object{"text": f.message()},
			"partialFingerprints": object{"element/v1": f.Rule + " " + f.Element},
			"locations":           []object{{"physicalLocation": object{"artifactLocation": object{"uri": f.File}, "region": object{"startLine": max(f.Line, 1)}}}}}
		if slices.Contains(r.Accepted, f) {
			result["suppressions"] = []object{{"kind": "external", "status": "accepted"}}
		}
		results = append(results, result)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": object{"name": cmp.Or(r.Tool, "capstan-gen compat"), "rules": rules}}, "results": results}}})
}

// rules are those that the program checks; of one that is not the gate, those that found something.
func (r *Report) rules() []Rule {
	if r.Tool == "" {
		return Rules()
	}
	found := []Rule{}
	for _, f := range slices.Concat(r.Findings, r.Accepted) {
		if !slices.ContainsFunc(found, func(known Rule) bool { return known.ID == f.Rule }) {
			found = append(found, Rule{ID: f.Rule, Level: f.Level, Why: cmp.Or(f.Why, f.Rule), Mend: f.Mend})
		}
	}
	return found
}

// message is the finding with its reason and remedy, as far as it has them.
func (f Finding) message() string {
	text := f.Text()
	if f.Why != "" {
		text += ": " + f.Why
	}
	if f.Mend != "" {
		text += "; " + f.Mend
	}
	return text
}

// github has the commands that GitHub shows as annotations.
func (r *Report) github(w io.Writer) error {
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	message := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	command := map[Level]string{Error: "error", Warning: "warning", Note: "notice"}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(w, "::%s file=%s,line=%d,title=%s::%s\n", command[f.Level], property.Replace(f.File), max(f.Line, 1),
			property.Replace(f.Rule), message.Replace(f.message())); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.Summary())
	return err
}
