package facts

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
)

// TestReleasesAreComplete compares the documents of each release with the tables of testdata/releases: nothing is missing
// in them, and nothing more is there. Only the group versions and releases of complete.tsv are compared; exceptions.tsv
// has the differences that are meant. CAPSTAN_GROUPS=core/v1,apps compares these groups in all releases instead, and
// CAPSTAN_RELEASES=1.26,1.30 looks at these releases only.
func TestReleasesAreComplete(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	usual, err := load.Load(root)
	if err != nil {
		t.Fatal(err)
	}
	asked := split(os.Getenv("CAPSTAN_RELEASES"))
	found := map[string][]int{} // the releases that have a difference
	for _, name := range usual.Releases.All {
		if len(asked) > 0 && !slices.Contains(asked, name) {
			continue
		}
		m, err := load.At(root, name)
		if err != nil {
			t.Fatalf("release %s: %v", name, err)
		}
		for _, d := range compareRelease(t, m, minorOf(t, name)) {
			found[d] = append(found[d], minorOf(t, name))
		}
	}
	restricted := os.Getenv("CAPSTAN_GROUPS")+os.Getenv("CAPSTAN_RELEASES") != ""
	for _, e := range table(t, "releases/exceptions") {
		for _, minor := range minors(t, e) {
			i := slices.Index(found[e["difference"]], minor)
			if i >= 0 {
				found[e["difference"]] = slices.Delete(found[e["difference"]], i, i+1)
			} else if !restricted {
				t.Errorf("exception that is not needed any more in 1.%d, remove it: %s", minor, e["difference"])
			}
		}
	}
	for _, d := range slices.Sorted(maps.Keys(found)) {
		if in := found[d]; len(in) > 0 {
			t.Errorf("in %d releases, 1.%d to 1.%d: %s", len(in), in[0], in[len(in)-1], d)
		}
	}
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// minorOf is 25 for 1.25.
func minorOf(t *testing.T, release string) int {
	t.Helper()
	minor, err := strconv.Atoi(strings.TrimPrefix(release, "1."))
	if err != nil {
		t.Fatal(err)
	}
	return minor
}

// release has the rows of the tables that are true in one release.
type release struct {
	types    map[string]map[string]row // the fields of bodies by their names, by the ID of their type
	requests map[string]bool           // types of the parameters of requests, which the tables of releases lack
	checked  func(dir string) bool     // whether the documents in a folder are compared
}

func openRelease(t *testing.T, minor int, suffix string) *release {
	t.Helper()
	r := &release{types: map[string]map[string]row{}, requests: map[string]bool{}}
	for id := range factTypes(t, suffix) {
		r.requests[id] = true
	}
	for _, f := range ofRelease(t, "fields", 25) {
		delete(r.requests, typeID(f["type"]))
	}
	for _, f := range ofRelease(t, "fields", minor) {
		id := typeID(f["type"])
		if r.types[id] == nil {
			r.types[id] = map[string]row{}
		}
		r.types[id][f["field"]] = f
	}
	for id, fields := range r.types {
		kind, isList := strings.CutSuffix(id, "List")
		if isList && fields["items"] != nil && folderForm(fields["items"]["form"]) == "[]"+kind {
			delete(r.types, id) // documents say nothing of lists of kinds
		}
	}
	complete := map[string]bool{}
	for _, c := range ofRelease(t, "complete", minor) {
		complete[c["version"]] = true
	}
	groups := split(os.Getenv("CAPSTAN_GROUPS"))
	r.checked = func(dir string) bool {
		if len(groups) == 0 {
			return complete[dir]
		}
		group, _, _ := strings.Cut(dir, "/")
		return slices.Contains(groups, dir) || slices.Contains(groups, group)
	}
	return r
}

// knows reports whether documents of the release may have a type.
func (r *release) knows(id string) bool {
	_, body := r.types[id]
	return body || r.requests[id]
}

// compareRelease lists the differences of the documents of a release, as "<subject>: fact <x>, document <y>".
func compareRelease(t *testing.T, m *model.Model, minor int) []string {
	t.Helper()
	r := openRelease(t, minor, m.Profile.GroupSuffix)
	dropOwn(m)
	newer := slices.DeleteFunc(table(t, "newer"), func(n row) bool {
		since := minorOf(t, n["since"])
		return since >= 25 && since <= minor
	})
	dropNewer(m, newer, r.knows)
	found := differences{found: map[string]bool{}, skipped: map[string]int{}}
	r.compareTypes(m, found)
	if r.checked("gates") {
		compareGates(m, ofRelease(t, "gates", minor), ofRelease(t, "needs", minor), found)
	}
	served := servedResources{suffix: m.Profile.GroupSuffix, checked: r.checked, lifecycles: map[string]row{}}
	for _, l := range ofRelease(t, "lifecycles", minor) {
		served.lifecycles[l["group"]+"/"+l["version"]+"."+l["kind"]] = l
	}
	served.compare(m, ofRelease(t, "resources", minor), found)
	return slices.Collect(maps.Keys(found.found))
}
