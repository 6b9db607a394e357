package load

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzDocuments reads any text as a schema and as a group version's document: the answer
// is a model or an error, never a panic.
func FuzzDocuments(f *testing.F) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		return string(text)
	}
	const schemaName, groupName = "schemas/shop/v1/Order.yaml", "openapi/shop/v1.yaml"
	right, group := read(filepath.Join(testdata, "shop", schemaName)), read(filepath.Join(testdata, "shop", groupName))
	f.Add(right, group)
	f.Add(read(filepath.Join(testdata, "wrong", "same-as-with-mistakes", "schemas/shop/v2/Order.yaml")), group)
	f.Add("description: A.\nproperties: {a: {type: string}}\n$defs:\n  A: {x-cluster-same-as: \"#/$defs/B\", properties: {a: null, b: {type: string}}}\n  B: {properties: {a: {}}}\n", group)
	wrong, err := filepath.Glob(filepath.Join(testdata, "wrong", "*", schemaName))
	if err != nil || len(wrong) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, path := range wrong {
		f.Add(read(path), group)
	}
	wrong, err = filepath.Glob(filepath.Join(testdata, "wrong", "*", groupName))
	if err != nil || len(wrong) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, path := range wrong {
		f.Add(right, read(path))
	}
	f.Fuzz(func(t *testing.T, schemaText, groupText string) {
		d := newDocuments("")
		if n, ok := d.parse(schemaName, []byte(schemaText)); ok {
			d.schemaFile(schemaName, n)
		}
		if n, ok := d.parse(groupName, []byte(groupText)); ok {
			d.groupFile(groupName, n, []byte(groupText))
		}
		if m, err := d.finish(); (m == nil) == (err == nil) {
			t.Errorf("model %v with error %v", m, err)
		}
	})
}
