package api

import (
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/delta"
	"github.com/capstan-dev/capstan/internal/schema"
)

// History is the releases of documents: the usual one, which the generated tables are of, and the changes that lead to the
// others.
type History struct {
	All     []string // the names, oldest first
	Usual   string
	Changes map[string]Changes // by release, all but the usual one
}

// Changes lead from one release to a neighbour, in the form of package delta.
type Changes struct {
	From              string
	Tables, Documents Packed
}

// Edition is one of the releases of documents.
type Edition struct {
	Release string
	history *History
	tables  map[string]*schema.Table // by folder; nil in the usual release
}

// At is a release, "" for the usual one. usual are the tables of that, by folder. The error names the releases.
func (h *History) At(release string, usual map[string]*schema.Table) (*Edition, error) {
	if release == "" || release == h.Usual {
		return &Edition{Release: h.Usual, history: h}, nil
	}
	if !slices.Contains(h.All, release) {
		return nil, fmt.Errorf("there is no release %q; write one from %s to %s", release, h.All[0], h.All[len(h.All)-1])
	}
	texts := delta.Texts{}
	for dir, table := range usual {
		texts[dir] = table.Lines()
	}
	texts, err := h.follow(release, texts, func(c Changes) Packed { return c.Tables })
	if err != nil {
		return nil, err
	}
	e := &Edition{Release: release, history: h, tables: map[string]*schema.Table{}}
	for dir, lines := range texts {
		group, version := "", dir[strings.LastIndexByte(dir, '/')+1:]
		if t := usual[dir]; t != nil {
			group, version = t.Group, t.Version
		}
		if e.tables[dir], err = schema.ParseTable(group, version, lines); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// follow makes the texts of a release of those of the usual one.
func (h *History) follow(release string, usual delta.Texts, of func(Changes) Packed) (delta.Texts, error) {
	if release == h.Usual {
		return usual, nil
	}
	c, ok := h.Changes[release]
	if !ok {
		return nil, fmt.Errorf("the changes of release %s are missing: run make generate", release)
	}
	before, err := h.follow(c.From, usual, of)
	if err != nil {
		return nil, err
	}
	changes, err := of(c).Text()
	if err != nil {
		return nil, err
	}
	return delta.Apply(before, string(changes))
}

// Table is the table of a group version, by its folder and its table in the usual release; an empty table where this release
// lacks the group version.
func (e *Edition) Table(dir string, usual *schema.Table) *schema.Table {
	if e.tables == nil {
		return usual
	}
	if t := e.tables[dir]; t != nil {
		t.Group = usual.Group
		return t
	}
	return &schema.Table{Group: usual.Group, Version: usual.Version}
}

// In reports whether the release is one from first to last.
func (e *Edition) In(first, last string) bool {
	at := slices.Index(e.history.All, e.Release)
	return slices.Index(e.history.All, first) <= at && at <= slices.Index(e.history.All, last)
}

// Documents are the published documents of the release, made of those of the usual one; these in an error.
func (e *Edition) Documents(usual Documents) (Documents, error) {
	if e.tables == nil {
		return usual, nil
	}
	texts := delta.Texts{}
	for _, d := range append(slices.Clone(usual.V3), usual.V2) {
		text, err := d.JSON.Text()
		if err != nil {
			return usual, err
		}
		texts[textOf(d.Path)] = delta.Lines(text)
	}
	texts, err := e.history.follow(e.Release, texts, func(c Changes) Packed { return c.Documents })
	if err != nil {
		return usual, err
	}
	var all Documents
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := delta.Text(texts[name])
		sum := sha512.Sum512([]byte(text))
		d := Document{Path: name, JSON: Pack(text), Hash: strings.ToUpper(hex.EncodeToString(sum[:]))}
		if name == v2Text {
			d.Path = ""
			all.V2 = d
		} else {
			all.V3 = append(all.V3, d)
		}
	}
	return all, nil
}

// v2Text is the name among texts of the document of the second version, which has no path.
const v2Text = "v2"

func textOf(path string) string {
	if path == "" {
		return v2Text
	}
	return path
}
