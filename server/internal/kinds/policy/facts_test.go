package policy_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/yaml"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// The tables of facts (generator/internal/facts/testdata) have the values of each field
// that a 1.25 server refuses. Here each of them is tried on the example of the kind.

func String(r harness.FactRow) string {
	text := strings.Join([]string{r["gv"] + "." + r["kind"], r["path"], r["rule"]}, " ")
	if c := r["condition"]; c != "-" {
		text += " if " + c
	}
	return text
}

// skips counts the facts that a test does not try, by reason.
type skips map[string]int

// add counts a fact, and names it in a verbose run.
func (s skips) add(t *testing.T, reason string, r harness.FactRow) {
	s[reason]++
	if testing.Verbose() {
		t.Logf("skipped, %s: %v", reason, r)
	}
}

// compare compares the counts with the known ones: a higher one loses a fact that was
// tried, a lower one is an improvement to be kept.
func (s skips) compare(t *testing.T, known skips) {
	t.Helper()
	reasons := slices.AppendSeq(slices.Collect(maps.Keys(s)), maps.Keys(known))
	slices.Sort(reasons)
	for _, reason := range slices.Compact(reasons) {
		if s[reason] != known[reason] {
			t.Errorf("%d facts are skipped because %s; it should be %d: try those that are new (-v names all), or note the lower number", s[reason], reason, known[reason])
		}
	}
}

// examples are the valid examples of kinds, as JSON, by the row of the catalog.
type examples map[*api.Resource][][]byte

func (known examples) of(t *testing.T, res *api.Resource) [][]byte {
	t.Helper()
	if all, ok := known[res]; ok {
		return all
	}
	dir := strings.TrimSuffix(res.GV.Group, "."+profile.GroupSuffix)
	if dir == "" {
		dir = "core"
	}
	files, err := filepath.Glob(filepath.Join("../../../../schemas/examples/valid", dir, res.GV.Version, res.Kind+"-*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]byte
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		data, err := yaml.ToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data)
	}
	known[res] = all
	return all
}

// storedKinds are the resources by the kind in facts, "apps/v1.Deployment", in the
// storage version, whose rules count.
func storedKinds() map[string]*api.Resource {
	resources := map[string]*api.Resource{}
	for _, gv := range generated.New(policy.New(time.Now), conversion.Hooks{}) {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			name := gv.APIVersion()
			if gv.Group == "" {
				name = "core/" + gv.Version
			}
			if res.Stored && res.Conversion == nil {
				resources[name+"."+res.Kind] = res
			}
		}
	}
	return resources
}

// refusals are the fields in the causes of a create, or of an update of old, without
// indexes. An object that cannot be read is wrong everywhere ("*").
func refusals(res *api.Resource, text, old []byte) []string {
	decoder := document.Decoder{Table: res.GV.Types(), Defaults: res.GV.Defaults}
	doc, _, err := decoder.Decode(res.Type, text)
	if err != nil {
		return []string{"*"}
	}
	obj, before := doc.Root(), document.Value{}
	if old != nil {
		oldDoc, _, err := decoder.Decode(res.Type, old)
		if err != nil {
			return []string{"*"}
		}
		before = oldDoc.Root()
		if res.Hooks != nil && res.Hooks.Update != nil {
			res.Hooks.Update(obj, before)
		}
	} else if res.Hooks != nil && res.Hooks.Create != nil {
		res.Hooks.Create(obj)
	}
	var fields []string
	for _, c := range objects.ValidateChange(objects.Ref{Row: &catalog.Row{Resource: res}}, obj, before, before) {
		fields = append(fields, plainPath(c.Field))
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

var subscript = regexp.MustCompile(`\[([^\]]*)\]`)

// plainPath writes the field of a cause as in the facts: elements are [], entries of maps
// are members.
func plainPath(field string) string {
	return subscript.ReplaceAllStringFunc(field, func(s string) string {
		key := s[1 : len(s)-1]
		if _, err := strconv.Atoi(key); err == nil || key == "" {
			return "[]"
		}
		return "." + key
	})
}

// spot is the position of a path in a tree: set replaces the value, or, given nothing,
// removes it.
type spot struct {
	value any
	set   func(any)
	list  func([]any) // replaces the list of which the value is an element
	twice func()      // repeats the element that the value is, or is in
	made  bool        // the example lacks the container of the value
}

type nothing struct{}

// find follows a path and makes missing values. Of a list it takes the element with the
// next member, the one after skip others, else a new one.
func find(root map[string]any, path string, skip int) spot {
	at := spot{value: root}
	made, twice := false, func() {}
	segments := strings.Split(path, ".")
	for i, segment := range segments {
		name, isList := strings.CutSuffix(segment, "[]")
		object, ok := at.value.(map[string]any)
		if !ok {
			object, made = map[string]any{}, true
			at.set(object)
		}
		at = spot{value: object[name], set: func(v any) {
			if v == (nothing{}) {
				delete(object, name)
			} else {
				object[name] = v
			}
		}}
		if !isList {
			continue
		}
		elements, _ := object[name].([]any)
		next := ""
		if i+1 < len(segments) {
			next = strings.TrimSuffix(segments[i+1], "[]")
		}
		others := skip
		index := slices.IndexFunc(elements, func(e any) bool {
			m, _ := e.(map[string]any)
			if _, has := m[next]; next != "" && !has {
				return false
			}
			others--
			return others < 0
		})
		if index < 0 {
			elements, index, made = append(elements, map[string]any{}), len(elements), true
			object[name] = elements
		}
		list := func(l []any) { object[name] = l }
		twice = func() { list(append(slices.Clone(elements), elements[index])) }
		at = spot{value: elements[index], list: list, set: func(v any) {
			if v == (nothing{}) {
				list(slices.Delete(slices.Clone(elements), index, index+1))
			} else {
				elements[index] = v
			}
		}}
	}
	at.made, at.twice = made, twice
	return at
}
