package bootstrap

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// gatedFacts is a rule, subject or object that one feature adds to the roles and bindings of kube-apiserver in some releases, all other features being on.
type gatedFacts struct {
	gate, object, part string
	takes              bool // the part is there without the feature only
	releases           []string
}

// readGatedFacts reads the table of them.
func readGatedFacts(t *testing.T) (all []gatedFacts) {
	t.Helper()
	text, err := os.ReadFile("testdata/gates.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.TrimSuffix(string(text), "\n")) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(cells) != 5 {
			t.Fatalf("%q has %d cells", line, len(cells))
		}
		f := gatedFacts{gate: cells[0], takes: cells[1] == "-", object: cells[2], part: cells[3]}
		for span := range strings.SplitSeq(cells[4], ",") {
			from, to, _ := strings.Cut(span, "-")
			first, _ := strconv.Atoi(from)
			last := first
			if to != "" {
				last, _ = strconv.Atoi(to)
			}
			for n := first; n <= last; n++ {
				f.releases = append(f.releases, fmt.Sprint("1.", n))
			}
		}
		all = append(all, f)
	}
	return all
}

// parts are the objects of a release, with their rules and subjects as canonical JSON, but for the bindings of controllers.
func parts(t *testing.T, release string, on func(string) bool) map[string]bool {
	t.Helper()
	all, err := Objects("k8s.io", "kubernetes.io", Release{Since: func(named string) bool { return named <= release }, On: on})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, o := range all {
		if o.Kind == "ClusterRoleBinding" && strings.HasPrefix(o.Name, controllerPrefix) {
			continue
		}
		var whole struct{ Rules, Subjects []map[string]any }
		if err := json.Unmarshal(o.JSON, &whole); err != nil {
			t.Fatal(err)
		}
		name := o.Kind + " " + o.Name
		found[name+"\t"] = true
		for _, part := range append(whole.Rules, whole.Subjects...) {
			text, _ := json.Marshal(part) // in the order of the names
			found[name+"\t"+string(text)] = true
		}
	}
	return found
}

// TestGates: each feature adds to the roles of each release what it adds in kube-apiserver, and nothing else.
func TestGates(t *testing.T) {
	facts := readGatedFacts(t)
	for minor := 25; minor <= 36; minor++ {
		release := fmt.Sprint("1.", minor)
		every := parts(t, release, func(string) bool { return true })
		gates := map[string]map[string]bool{}
		for _, f := range facts {
			if !slices.Contains(f.releases, release) {
				continue
			}
			if gates[f.gate] == nil {
				gates[f.gate] = map[string]bool{}
			}
			gates[f.gate][f.object+"\t"+f.part] = f.takes
		}
		for gate, want := range gates {
			without := parts(t, release, func(name string) bool { return name != gate })
			for part, takes := range want {
				if every[part] == takes || without[part] != takes {
					t.Errorf("%s: %s: %s: with the feature %v, without it %v", release, gate, part, every[part], without[part])
				}
			}
			for part := range every {
				if _, due := want[part]; !due && !without[part] {
					t.Errorf("%s: %s adds %s", release, gate, part)
				}
			}
		}
	}
}
