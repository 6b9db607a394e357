package load

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"go.yaml.in/yaml/v3"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

const repository = "../../.."

// formOf is a compiled form.
func formOf(t testing.TB, name string) *form {
	t.Helper()
	all, err := forms()
	if err != nil {
		t.Fatal(err)
	}
	return all[name]
}

// annotation is one of a schema in a form: keys with their values.
func annotation(t *testing.T, name, ref, key string) map[string]any {
	t.Helper()
	m, is := child(formOf(t, name).target(ref), key).(map[string]any)
	if !is || len(m) == 0 {
		t.Fatalf("%s of %s has no %s", ref, name, key)
	}
	return m
}

// closed finds the mappings of a form that have no other keys than those in properties.
func closed(way string, s any, found map[string][]string) {
	m, _ := s.(map[string]any)
	properties, _ := m["properties"].(map[string]any)
	if m["additionalProperties"] == false && len(properties) > 0 {
		found[way] = sortedKeys(properties)
	}
	for key, part := range m {
		if key != "changes" { // made of the keys of a schema
			closed(way+"/"+key, part, found)
		}
	}
}

// The readers read the keys that the forms describe, and no others.
func TestReadersHaveTheKeysOfTheForms(t *testing.T) {
	d := newDocuments("")
	var n node
	n.Node = &yaml.Node{Kind: yaml.MappingNode}
	gv, res, sub, listed := &model.GroupVersion{}, &model.Resource{}, &model.Subresource{}, false
	schemaKeys := d.documentFields(n, &schemaDoc{root: &schema.Schema{}})
	schemaKeys[sameAsKey] = func(node) {} // read before the others
	readers := map[string]map[string]func(node){
		"schema/$defs/schema": schemaKeys, "schema/$defs/restriction": d.restrictionFields(n, &schema.Schema{}),
		"schema/$defs/schema/properties/x-cluster-references": d.referenceKeys(&schema.References{}),
		"schema/$defs/rule": d.demandKeys(&schema.Demand{}), "schema/$defs/test": d.testKeys(&schema.Test{}),
		"version/$defs/document": d.documentKeys(gv), "version/$defs/group": d.groupKeys(gv, &listed, &listed),
		"version/$defs/resource":                       d.resourceKeys(res, &resourceText{}),
		"version/$defs/resource/properties/deprecated": d.deprecatedKeys(&res.Deprecation), "version/$defs/resource/properties/graceful": d.gracefulKeys(&model.Grace{}),
		"version/$defs/action/properties/deprecated": d.deprecatedKeys(&model.Deprecation{}),
		"version/$defs/subresource":                  d.subresourceKeys(sub, gv, new(string)), "version/$defs/action": d.actionKeys(&model.Action{}, new(string)), "version/$defs/actionError": d.actionErrorKeys(&model.ActionError{}),
		"version/$defs/column":     d.columnKeys(&model.Column{}),
		"version/$defs/selectable": d.selectableKeys(&model.Selectable{}), "profile/$defs/profile": d.profileKeys(&model.Profile{}),
		"schema/$defs/lifecycle": d.lifecycleKeys(&schema.Lifecycle{}), "version/$defs/lifecycle": d.lifecycleKeys(&schema.Lifecycle{}),
		"promises/$defs/lifecycle": d.lifecycleKeys(&schema.Lifecycle{}),
		"releases/$defs/releases":  d.releasesKeys(&model.Releases{}),
		"promises/$defs/promises":  d.promiseKeys(&model.Promises{}), "promises/$defs/gate": d.gateKeys(&model.Gate{}),
		"promises/$defs/metric": d.metricKeys(&model.Metric{}), "promises/$defs/flag": d.flagKeys(&model.Flag{}),
	}
	found := map[string][]string{}
	for _, name := range formNames {
		closed(name, any(formOf(t, name).tree), found)
	}
	for _, way := range slices.Sorted(maps.Keys(found)) {
		read := sortedKeys(readers[way])
		if way == "schema/$defs/restriction" { // reads like a schema, and the form has less
			read = slices.DeleteFunc(read, func(key string) bool { return !slices.Contains(found[way], key) })
		}
		if !slices.Equal(found[way], read) {
			t.Errorf("%s: the form has %v, the readers have %v", way, found[way], read)
		}
	}
	for way := range readers {
		if found[way] == nil {
			t.Errorf("no form has %s", way)
		}
	}
}

// The reference says of each key what it means, which form it has and what its absence means.
func TestKeysAreDescribed(t *testing.T) {
	all, err := Reference("")
	if err != nil {
		t.Fatal(err)
	}
	described := map[string]bool{}
	for _, c := range all {
		for _, k := range c.Keys {
			described[k.Name] = true
			if !strings.HasSuffix(k.Text, ".") || k.Form == "" || strings.Trim(k.Absent, "`. ") == "" && k.Absent != "`[]`." {
				t.Errorf("%s of %q needs a description in sentences and default or x-when-absent: %+v", k.Name, c.Title, k)
			}
		}
	}
	found := map[string][]string{}
	for _, name := range formNames {
		closed(name, any(formOf(t, name).tree), found)
	}
	for way, keys := range found {
		for _, key := range keys {
			if _, outer, inner := strings.Cut(way, "/properties/"); inner {
				key = outer + "." + key
			}
			if !described[key] {
				t.Errorf("the reference lacks %s of %s", key, way)
			}
		}
	}
	if _, err := Reference("x-cluster-oneof"); err == nil || !strings.Contains(err.Error(), `did you mean "x-cluster-one-of"`) {
		t.Errorf("error %v", err)
	}
	if some, err := Reference("period"); err != nil || len(some) != 1 || some[0].Keys[0].Name != "graceful.period" {
		t.Errorf("got %+v, error %v", some, err)
	}
}

// The words in the forms are those that the program understands.
func TestWordsAreThoseOfTheProgram(t *testing.T) {
	var endpoints []string
	for _, e := range api.Endpoints() {
		endpoints = append(endpoints, string(e))
	}
	verbs, _ := child(formOf(t, "version").target("#/$defs/verbs/items"), "enum").([]any)
	for i, v := range verbs {
		if i >= len(allVerbs) || v != allVerbs[i] {
			t.Errorf("the verbs are %v in the form, and %v", verbs, allVerbs)
		}
	}
	for _, c := range []struct {
		form, ref string
		want      []string
	}{
		{"schema", "#/$defs/check", document.Formats()},
		{"version", "#/$defs/check", document.Formats()},
		{"schema", "#/$defs/schema/properties/format", allFormats()},
		{"schema", "#/$defs/test/then", sortedKeys(conditions)},
		{"schema", "#/$defs/rule/properties/cause", sortedKeys(schema.Reasons)},
		{"version", "#/$defs/endpoint", endpoints},
	} {
		slices.Sort(c.want)
		if got := sortedKeys(annotation(t, c.form, c.ref, "x-words")); !slices.Equal(got, slices.Compact(c.want)) {
			t.Errorf("%s %s has the words %v, want %v", c.form, c.ref, got, c.want)
		}
	}
}

// The form of a schema refuses each value of a keyword that JSON Schema 2020-12 refuses.
func TestFormIsAsStrictAsJSONSchema(t *testing.T) {
	meta, err := jsonschema.NewCompiler().Compile(jsonschema.Draft2020.URL())
	if err != nil {
		t.Fatal(err)
	}
	var values []any
	if err := json.Unmarshal([]byte(`[null, true, 5, -1, 0, 1.5, "x", "", [], ["a", "a"], {}, [1], {"a": 1}, {"a": "x"}, {"a": ["b", "b"]}, [[]], [{}], {"a": {"type": 5}}, [{"items": 7}], ["string", "string"], "a b", {"a": {"type": []}}]`), &values); err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, key := range sortedKeys(child(formOf(t, "schema").target("#/$defs/schema"), "properties").(map[string]any)) {
		for _, value := range values {
			in := map[string]any{key: value}
			if list, is := value.([]any); is && key == "required" && len(list) == 2 {
				continue // checkRequired reports the name that is there twice
			}
			if meta.Validate(in) != nil {
				if refused++; formOf(t, "schema").schemas["#"].Validate(in) == nil {
					t.Errorf("%s: %v is accepted, but not JSON Schema", key, value)
				}
			}
		}
	}
	if refused < 300 {
		t.Errorf("JSON Schema refuses only %d values", refused)
	}
}

// Editors find all documents of the repository right, those that say how they differ from others too.
func TestDocumentsFitTheEditorSchemas(t *testing.T) {
	schemas := editorSchemas(t)
	seen := map[string]int{}
	for _, root := range []string{repository, filepath.Join(repository, "openapi", "released"), filepath.Join(testdata, "shop")} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			rel, _ := filepath.Rel(root, path)
			parts := strings.Split(filepath.ToSlash(rel), "/")
			switch {
			case err != nil:
				return err
			case entry.IsDir() && rel != "." && (parts[0] != "openapi" && parts[0] != "schemas" || len(parts) > 1 && (parts[1] == "released" || parts[1] == "examples")):
				return filepath.SkipDir
			case len(parts) < 2 || !strings.HasSuffix(path, ".yaml"):
				return nil
			}
			name := "version"
			switch {
			case parts[0] == "schemas":
				name = "schema"
			case len(parts) == 2:
				name = strings.TrimSuffix(parts[1], ".yaml")
			}
			seen[name]++
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			var value any
			if err := yaml.Unmarshal(text, &value); err != nil {
				return err
			}
			if err := schemas[name].Validate(inJSON(t, value)); err != nil {
				t.Errorf("%s: %#v", path, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen["schema"] < 100 || seen["version"] < 30 || seen["profile"] < 1 || seen["promises"] < 2 {
		t.Errorf("only %v documents", seen)
	}
	for text, right := range map[string]bool{
		"{x-cluster-same-as: /a/v1/B, properties: {a: null, b: {x-cluster-renamed-from: a}}, $defs: {C: {required: null}}}": true,
		"{x-cluster-same-as: /a/v1/B, properties: {a: {x-cluster-null: perhaps}}}":                                          false,
		"{x-cluster-same-as: /a/v1/B, proprties: {}}":                                                                       false,
		"{$defs: {A: {x-cluster-same-as: /a/v1/B, type: null}}}":                                                            true,
		"{$defs: {A: {type: null}}}":                                                                                        false,
		"{properties: {a: {x-cluster-binary: true}}}":                                                                       false,
		"{properties: {a: {x-cluster-binary: false}}}":                                                                      true,
	} {
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := schemas["schema"].Validate(inJSON(t, value)); (err == nil) != right {
			t.Errorf("%s: error %v, want it right: %v", text, err, right)
		}
	}
}

// editorSchemas compiles the JSON Schemas for editors.
func editorSchemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	files, err := EditorSchemas()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*jsonschema.Schema{}
	for name, text := range files {
		s, err := jsonschema.CompileString("capstan:///"+name, string(text))
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(name, ".json")] = s
		if strings.Contains(string(text), `"x-when-absent"`) || !strings.Contains(string(text), "When absent: ") && name != "profile.json" {
			t.Errorf("%s does not say in its descriptions what counts without a key", name)
		}
	}
	return all
}

// inJSON is a value as JSON has it, with texts as keys.
func inJSON(t *testing.T, value any) (out any) {
	t.Helper()
	var n yaml.Node
	if err := n.Encode(value); err != nil {
		t.Fatal(err)
	}
	var text []byte
	newDocuments("").json(&text)(node{Node: &n})
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Texts that are made to be expensive are refused or judged in bounded time and memory.
func TestHostileDocuments(t *testing.T) {
	nested := func(n int, leaf string) string {
		return strings.Repeat("{properties: {a: ", n) + leaf + strings.Repeat("}}", n)
	}
	many := nested(45, "{properties: {"+wrongFields(10_000)+"}}")
	for name, c := range map[string]struct{ text, want string }{
		"very deep":        {nested(4000, "{description: 5}"), "5 is not a text; write it in quotes"},
		"a deep mistake":   {nested(45, "{description: 5}"), "5 is not a text; write it in quotes"},
		"many deep ones":   {many, "7 is not a text; write it in quotes"},
		"an alias":         {"{description: &a x, title: *a}", "aliases of YAML are not followed; write the value itself"},
		"aliases":          {"{default: {a: &a [x, x], b: &b [*a, *a], c: [*b, *b]}}", "aliases of YAML are not followed; "},
		"a great exponent": {"{minimum: 1e999999999}", `"1e999999999" is not a number; write a number`},
		"no number":        {"{minimum: .inf}", `".inf" is not a number; write a number`},
		"no decimal":       {"{minLength: 0x1f}", `"0x1f" is not a whole number; write a whole number`},
		"key with escapes": {`{properties: {"a/b~c%20;": {type: 5}}}`, `unknown type "5"; `},
		"key with braces":  {`{"{value}; {key}": 1}`, `a schema has no key "{value}; {key}"; remove it`},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			d := newDocuments("")
			n, ok := d.parse("schemas/shop/v1/Order.yaml", []byte(c.text))
			if !ok {
				t.Fatal(d.err())
			}
			d.schemaFile("schemas/shop/v1/Order.yaml", n)
			err := d.err()
			runtime.ReadMemStats(&after)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %.300v, want %s", err, c.want)
			}
			mib := (after.TotalAlloc - before.TotalAlloc) >> 20
			if t.Logf("%d KiB of text take %v and %d MiB", len(c.text)>>10, time.Since(start), mib); mib > 500 {
				t.Errorf("%d MiB were allocated", mib)
			}
		})
	}
}

// wrongFields are fields of which each has a mistake.
func wrongFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "f%d: {description: 7}, ", i)
	}
	return b.String()
}
