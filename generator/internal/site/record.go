package site

import (
	"encoding/json"
	"time"
)

// The record of changes is the page of changes for programs. It has the group versions and the types by
// the names that clients know.
type (
	record struct {
		Release  recordedRelease    `json:"release"`
		Versions []recordedVersion  `json:"versions"` // all that the documents have
		Added    []recordedAddition `json:"added"`
		Broken   []recordedBreak    `json:"broken"`
	}
	recordedRelease struct {
		Version string `json:"version"`
		Date    string `json:"date"`
	}
	recordedVersion struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Since   string `json:"since,omitempty"` // the release that is known to have it; none for a new one
	}
	recordedAddition struct {
		Group     string              `json:"group"`
		Version   string              `json:"version"`
		New       bool                `json:"new,omitempty"` // the version itself
		Kinds     []string            `json:"kinds,omitempty"`
		Resources []string            `json:"resources,omitempty"`
		Fields    map[string][]string `json:"fields,omitempty"` // by type
	}
	recordedBreak struct {
		Level    string   `json:"level"`
		Rule     string   `json:"rule"`
		Why      string   `json:"why"`
		Mend     string   `json:"mend"`
		Findings []string `json:"findings"`
	}
)

// Record is the changes of a project's documents since its last release, in JSON. It does not depend on
// the day on which it is made: what may have ended since then counts as on the day of the release.
func Record(root string) ([]byte, error) {
	w, err := readProject(root)
	if err != nil {
		return nil, err
	}
	c, err := compareRelease(root, time.Now(), true)
	if err != nil {
		return nil, err
	}
	r := record{Release: recordedRelease{c.Release.Version, c.Release.Date}, Versions: []recordedVersion{}, Added: []recordedAddition{}, Broken: []recordedBreak{}}
	for _, gv := range w.model.GroupVersions {
		if gv.Served {
			r.Versions = append(r.Versions, recordedVersion{gv.Group, gv.Version, c.Release.Served[gv.Dir]})
		}
	}
	for _, a := range w.added("", c.before, w.model) {
		r.Added = append(r.Added, recordAddition(&a))
	}
	for _, b := range byRule(c.Report.Findings) {
		of := recordedBreak{Level: string(b.Level), Rule: b.Rule, Why: b.Why, Mend: b.Mend}
		for _, f := range b.Findings {
			of.Findings = append(of.Findings, f.Text())
		}
		r.Broken = append(r.Broken, of)
	}
	text, err := json.MarshalIndent(r, "", " ")
	return append(text, '\n'), err
}

func recordAddition(a *addition) recordedAddition {
	r := recordedAddition{Group: a.GV.Group, Version: a.GV.Version, New: a.Version, Resources: a.Further, Fields: map[string][]string{}}
	for _, k := range a.Kinds {
		r.Kinds = append(r.Kinds, k.Name)
	}
	for _, f := range a.Fields {
		r.Fields[f.Type.Name] = f.Names
	}
	return r
}
