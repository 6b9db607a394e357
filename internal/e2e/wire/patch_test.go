package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/randfill"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/patch"
	"github.com/capstan-dev/capstan/internal/schema"
)

const patchesPerKind = 8

// TestStrategicMerge patches random objects of every kind, by our tables and by
// the tags of the Go types: kubectl makes the patch that turns one object into
// another, and both sides must apply it alike.
func TestStrategicMerge(t *testing.T) {
	w := newWorld(t)
	for _, k := range w.kinds {
		t.Run(k.gvk.String(), func(t *testing.T) {
			t.Parallel()
			applied := 0
			for seed := range int64(patchesPerKind) {
				done, err := w.comparePatch(k, seed)
				if err != nil {
					t.Fatalf("seed %d: %v", seed, err)
				}
				if done {
					applied++
				}
			}
			if applied < patchesPerKind/4 {
				t.Errorf("only %d of %d patches were applied", applied, patchesPerKind)
			}
		})
	}
}

// FuzzStrategicMerge looks for a patch that the two sides apply differently.
func FuzzStrategicMerge(f *testing.F) {
	w := newWorld(f)
	f.Add(uint16(0), int64(0))
	f.Fuzz(func(t *testing.T, index uint16, seed int64) {
		k := w.kinds[int(index)%len(w.kinds)]
		if _, err := w.comparePatch(k, seed); err != nil {
			t.Fatalf("%s, seed %d: %v", k.gvk, seed, err)
		}
	})
}

// comparePatch is not done where the reference makes no patch or refuses its own.
func (w *world) comparePatch(k kind, seed int64) (done bool, err error) {
	object, err := w.scheme.New(k.gvk)
	if err != nil {
		return false, err
	}
	var texts [3][]byte // original, wanted, and present meanwhile
	for i := range texts {
		if texts[i], err = w.small(k, seed*3+int64(i)); err != nil {
			return false, err
		}
	}
	change, err := strategicpatch.CreateTwoWayMergePatch(texts[0], texts[1], object)
	if err != nil {
		return false, nil
	}
	for _, current := range [][]byte{texts[0], texts[2]} {
		want, err := strategicpatch.StrategicMergePatch(current, change, object)
		if err != nil {
			continue
		}
		got, err := patch.Strategic(current, change, k.table, k.typ, document.Limits{}, nil)
		if err != nil {
			return false, fmt.Errorf("%w\ncurrent %s\npatch %s\nwant %s", err, current, change, want)
		}
		if diff := cmp.Diff(withoutDirectives(tree(want)), tree(got)); diff != "" {
			return false, fmt.Errorf("(- reference, + ours):\n%s\ncurrent %s\npatch %s", diff, current, change)
		}
		done = true
	}
	return done, nil
}

// withoutDirectives drops directives that the reference leaves in parts that the object
// did not have: ours never stores a directive.
func withoutDirectives(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			word, _, _ := strings.Cut(name, "/")
			if slices.Contains([]string{"$patch", "$retainKeys", "$setElementOrder", "$deleteFromPrimitiveList"}, word) {
				delete(v, name)
			} else {
				v[name] = withoutDirectives(member)
			}
		}
	case []any:
		v = slices.DeleteFunc(v, func(element any) bool {
			m, _ := element.(map[string]any)
			return m["$patch"] == "delete"
		})
		for i := range v {
			v[i] = withoutDirectives(v[i])
		}
		return v
	}
	return v
}

// small is the JSON of an object with few different texts and numbers, so that two
// objects have elements and keys in common. Merge keys are unique in a list, since
// otherwise the reference's result depends on the order.
func (w *world) small(k kind, seed int64) ([]byte, error) {
	object, err := w.scheme.New(k.gvk)
	if err != nil {
		return nil, err
	}
	newFiller(seed).NumElements(0, 4).Funcs(
		func(s *string, c randfill.Continue) { *s = string(rune('a' + c.Intn(5))) },
		func(n *int32, c randfill.Continue) { *n = int32(c.Intn(4)) },
		func(n *int64, c randfill.Continue) { *n = int64(c.Intn(4)) },
	).Fill(object)
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return json.Marshal(k.distinct(k.typ, k.known(k.typ, tree(text))))
}

// distinct drops elements without a merge key or with that of an earlier one.
func (k kind) distinct(ref schema.Ref, v any) any {
	t := &k.table.Types[ref]
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			switch t.Kind {
			case schema.Map:
				v[name] = k.distinct(t.Elem, member)
			case schema.Object:
				f := &t.Fields[t.Field(name)]
				member = k.distinct(f.Type, member)
				if list, ok := member.([]any); ok && f.Patch&schema.PatchMerge != 0 {
					seen := map[any]bool{nil: true}
					member = slices.DeleteFunc(list, func(element any) bool {
						key := element
						if f.Rest().PatchKey != "" {
							key = element.(map[string]any)[f.More.PatchKey]
						}
						twice := seen[key]
						seen[key] = true
						return twice
					})
				}
				v[name] = member
			}
		}
	case []any:
		for i := range v {
			if t.Kind == schema.List {
				v[i] = k.distinct(t.Elem, v[i])
			}
		}
	}
	return v
}
