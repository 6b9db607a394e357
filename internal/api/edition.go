package api

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	at      int                      // of Release among all
	tables  map[string]*schema.Table // by folder; nil in the usual release
}

// Check refuses a release that the history does not have. The error names the releases.
func (h *History) Check(release string) error {
	if slices.Contains(h.All, release) {
		return nil
	}
	return fmt.Errorf("there is no release %q; write one from %s to %s", release, h.All[0], h.All[len(h.All)-1])
}

// At is a release, "" for the usual one. usual are the tables of that for all group versions, by folder, empty ones for those
// that only other releases have. Errors are those of Check.
func (h *History) At(release string, usual map[string]*schema.Table) (*Edition, error) {
	if release == "" || release == h.Usual {
		return &Edition{Release: h.Usual, history: h, at: slices.Index(h.All, h.Usual)}, nil
	}
	if err := h.Check(release); err != nil {
		return nil, err
	}
	texts := delta.Texts{}
	for dir, table := range usual {
		texts[dir] = table.Lines()
	}
	texts, err := h.follow(release, texts, func(c Changes) Packed { return c.Tables })
	if err != nil {
		return nil, err
	}
	e := &Edition{Release: release, history: h, at: slices.Index(h.All, release), tables: map[string]*schema.Table{}}
	for dir, table := range usual {
		if e.tables[dir], err = schema.ParseTable(table.Group, table.Version, texts[dir]); err != nil {
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

// Table is the table of a group version, by its folder and its table in the usual release; an empty one where the release
// lacks the group version.
func (e *Edition) Table(dir string, usual *schema.Table) *schema.Table {
	if e.tables == nil {
		return usual
	}
	return e.tables[dir]
}

// In reports whether the release is one from first to last.
func (e *Edition) In(first, last string) bool {
	return e.Since(first) && e.at <= slices.Index(e.history.All, last)
}

// Later are the releases after this one.
func (e *Edition) Later() []string { return e.history.All[e.at+1:] }

// Since reports whether the release is a named one or a later one. Nil stands for the oldest release. Rules of objects ask in
// every write, so that in the oldest release the answer costs one comparison.
func (e *Edition) Since(release string) bool {
	return e != nil && slices.Contains(e.history.All[:e.at+1], release)
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
		texts[TextName(d.Path)] = delta.Lines(text)
	}
	texts, err := e.history.follow(e.Release, texts, func(c Changes) Packed { return c.Documents })
	if err != nil {
		return usual, err
	}
	var all Documents
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := delta.Text(texts[name])
		d := Document{JSON: Pack(text), Hash: HashOf([]byte(text))}
		if name == TextName("") {
			all.V2 = d
		} else {
			d.Path = name
			all.V3 = append(all.V3, d)
		}
	}
	return all, nil
}

// TextName is the name of a document in the changes of documents: its path, "v2" for that of the second version.
func TextName(path string) string { return cmp.Or(path, "v2") }

// CompareReleases orders releases by their numbers: "1.9" comes before "1.10".
func CompareReleases(a, b string) int {
	numbers := func(release string) (all []int) {
		for part := range strings.SplitSeq(release, ".") {
			n, _ := strconv.Atoi(part) // text that is not a number counts as the oldest
			all = append(all, n)
		}
		return all
	}
	return slices.Compare(numbers(a), numbers(b))
}
