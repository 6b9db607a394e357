package facts

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/schema"
)

// The tables of testdata/releases have what each release from 1.25 on served; make facts writes them.

// ofRelease are the rows of a table that are true in the release of a minor number.
func ofRelease(t *testing.T, name string, minor int) (rows []row) {
	t.Helper()
	for _, r := range table(t, "releases/"+name) {
		if slices.Contains(minors(t, r), minor) {
			rows = append(rows, r)
		}
	}
	return rows
}

// minors are the minor numbers of the releases of a row, which it has as ranges: 25-28,30.
func minors(t *testing.T, r row) (all []int) {
	t.Helper()
	for _, s := range r.list("releases") {
		from, to, ok := strings.Cut(s, "-")
		if !ok {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil {
			t.Fatalf("a table has the releases %q", s)
		}
		for minor := first; minor <= last; minor++ {
			all = append(all, minor)
		}
	}
	return all
}

// folders are the folders of groups whose types the releases keep in folders of other names.
var folders = map[string]string{"rbac": "rbac.authorization", "flowcontrol": "flowcontrol.apiserver", "apiserverinternal": "internal.apiserver"}

// typeID is the ID of a type in the documents.
func typeID(name string) string {
	folder, rest, _ := strings.Cut(name, "/")
	if own, ok := folders[folder]; ok {
		folder = own
	}
	return folder + "/" + rest
}

// messageNumber is the number of a field as the tables of releases have it: 2.30 is the number 30 in the message 2.
func messageNumber(m member) string {
	all := m.number
	outer, _ := strconv.Atoi(m.outer) // "-" is 0
	for ; outer != 0; outer >>= schema.OuterBits {
		all = strconv.Itoa(outer&schema.MostOuter) + "." + all
	}
	return all
}

// TestReleasesBegin compares the oldest release of the tables with the facts of 1.25, which come from another
// source: the types of Go, as they are linked into a program.
func TestReleasesBegin(t *testing.T) {
	const suffix = "k8s.io"
	types, seen, found := factTypes(t, suffix), map[string]bool{}, 0
	for _, r := range ofRelease(t, "fields", 25) {
		id := typeID(r["type"])
		if _, ok := types[id]; !ok {
			continue // not a part of a body: pkg/version.Info
		}
		if r["field"] == "." || (r["field"] == "kind" || r["field"] == "apiVersion") && r["number"] == "-" {
			continue // the type itself; of each kind, and not in its binary form
		}
		seen[id] = true
		members := factMembers(types, id, suffix)
		i := slices.IndexFunc(members, func(m member) bool { return m.name == r["field"] })
		if i < 0 {
			t.Errorf("%s has no field %s", id, r["field"])
			continue
		}
		m := members[i]
		found++
		for _, c := range []struct{ what, release, fact string }{
			{"required", r["required"], yes(m.required)}, {"list type", r["list_type"], m.listType}, {"map type", r["map_type"], m.mapType},
			{"keys", r["list_map_keys"], m.listKeys}, {"patch strategy", r["patch_strategy"], m.patchStrategy}, {"merge key", r["patch_merge_key"], m.patchMergeKey},
		} {
			if c.release != c.fact {
				t.Errorf("%s.%s: %s is %q in the release and %q in the facts", id, r["field"], c.what, c.release, c.fact)
			}
		}
		if r["number"] != "-" && r["number"] != messageNumber(m) {
			t.Errorf("%s.%s has the number %s in the release and %s in the facts", id, r["field"], r["number"], messageNumber(m))
		}
	}
	if found < 1700 {
		t.Errorf("only %d fields of %d types were compared", found, len(seen))
	}
}
