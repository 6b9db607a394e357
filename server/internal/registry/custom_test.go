package registry

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
)

const anna = "shoes.example.com/cobblers/default/anna"

// TestUnknownKind reads custom objects before their definition: they are as with it, since
// their author knew it.
func TestUnknownKind(t *testing.T) {
	rows := everyKind(t)
	form := New(rows)
	seen := 0
	objects, _ := recordings(t)
	for _, r := range objects {
		if !strings.HasPrefix(r.Key, "shoes.example.com/cobblers/") {
			continue
		}
		seen++
		known, err := form.Decode(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		rows.Remove("shoes.example.com", "cobblers")
		unknown, err := form.Decode(r.Key, r.Value)
		if err != nil || !bytes.Equal(known.Body, unknown.Body) || !bytes.Equal(known.Meta, unknown.Meta) || known.RevisionAt != unknown.RevisionAt {
			t.Errorf("it is read as\n%s %v\nand with its definition as\n%s", unknown.Body, err, known.Body)
		}
		if key, ok := form.Key(r.Place); !ok || key != r.Key {
			t.Errorf("the key of %s is %s %t", r.Place, key, ok)
		}
		if data, err := form.Encode(r.Key, unknown); err != nil || !bytes.Equal(data, r.Value) {
			t.Errorf("etcd gets\n%s %v\nand should get\n%s", data, err, r.Value)
		}
		rows.Put(everyKind(t).Snapshot().Resource("shoes.example.com", "v1", "cobblers").Resource)
	}
	if seen < 3 {
		t.Errorf("%d custom objects are recorded", seen)
	}
}

// TestCustomVersions reads custom objects in versions that are not the storage version.
func TestCustomVersions(t *testing.T) {
	rows := everyKind(t)
	form := New(rows)
	r, v := object(t, form, anna)
	data := func(version string) []byte {
		return bytes.Replace(r.Value, []byte("shoes.example.com/v1\",\"kind\":\"Cobbler"), []byte("shoes.example.com/"+version+"\",\"kind\":\"Cobbler"), 1)
	}
	gone := strings.Replace(string(v.Body), "shoes.example.com/v1", "shoes.example.com/v0", 1)
	if got, err := form.Decode(anna, data("v0")); err != nil || string(got.Body) != gone {
		t.Errorf("an object in a version that is gone is read as\n%s %v\nwant\n%s", got.Body, err, gone)
	}
	second := *rows.Snapshot().Resource("shoes.example.com", "v1", "cobblers").Resource
	gv := *second.GV
	gv.Version, second.GV, second.Stored = "v2", &gv, true
	second.Conversion = &api.Conversion{Group: gv.Group, Version: "v1", Plural: "cobblers", Remote: remote{t}}
	first := rows.Snapshot().Resource("shoes.example.com", "v1", "cobblers").Resource
	second.Conversion.Storage = first
	rows.Put(first, &second)
	if !rows.Snapshot().Type(anna).ConvertsRemotely() {
		t.Fatal("the versions are not converted remotely")
	}
	for _, version := range []string{"v1", "v2", "v0"} {
		got, err := form.Decode(anna, data(version))
		want := strings.Replace(string(v.Body), "shoes.example.com/v1", "shoes.example.com/"+version, 1)
		if err != nil || string(got.Body) != want {
			t.Errorf("%s is read as\n%s %v\nwant\n%s", version, got.Body, err, want)
		}
		if again, err := form.Encode(anna, got); err != nil || !bytes.Equal(again, data(version)) {
			t.Errorf("%s becomes\n%s %v\nand was\n%s", version, again, err, data(version))
		}
	}
}

// TestOtherDefinition reads an object that was written by a later definition than the one that is known: it
// loses nothing and gets nothing.
func TestOtherDefinition(t *testing.T) {
	form := New(everyKind(t))
	r, v := object(t, form, anna)
	at := bytes.Index(r.Value, []byte(`"spec":{`)) + len(`"spec":{`)
	data := append(append(bytes.Clone(r.Value[:at]), `"aLaterField":[1],`...), r.Value[at:]...)
	got, err := form.Decode(anna, data)
	if err != nil || !bytes.Contains(got.Body, []byte(`"aLaterField":[1]`)) {
		t.Fatalf("it is read as\n%s %v\nwithout the field of\n%s", got.Body, err, data)
	}
	if again, err := form.Encode(anna, got); err != nil || !bytes.Equal(again, data) {
		t.Errorf("it becomes\n%s %v\nand was\n%s", again, err, data)
	}
	if form.Equal(anna, got, v) || !form.Equal(anna, got, got) {
		t.Error("equal is not what etcd has")
	}
}

// remote is a converter that may not be asked.
type remote struct{ t *testing.T }

func (r remote) Convert(context.Context, *api.Resource, [][]byte) ([][]byte, error) {
	r.t.Error("the converter is asked")
	return nil, nil
}

// TestSchemaValues encodes a definition whose schema has values in another spelling than
// that in which kube-apiserver keeps them.
func TestSchemaValues(t *testing.T) {
	form := New(everyKind(t))
	r, v := object(t, form, "apiextensions.k8s.io/customresourcedefinitions/lasts.shoes.example.com")
	body := string(v.Body)
	for kept, sent := range map[string]string{
		`"default":{"a":{},"e":1000,"f":1,"g":0.000001,"z":1}`: `"default":{"z":1,"a":{},"f":1.0,"e":1.0e3,"g":1e-6}`,
		`"enum":[1,2],"example":{"a":[2],"c":1}`:               `"enum":[1.0,2],"example":{"c":1.00,"a":[2]}`,
		`"enum":[5,6]`:                                         `"enum":[5.0,6]`,
	} {
		if !strings.Contains(body, kept) {
			t.Fatalf("%s has no %s", body, kept)
		}
		body = strings.ReplaceAll(body, kept, sent)
	}
	v.Body = []byte(body)
	if data, err := form.Encode(r.Key, v); err != nil || !bytes.Equal(data, r.Value) {
		t.Errorf("etcd gets\n%s %v\nand should get\n%s", data, err, r.Value)
	}
	for sent, kept := range map[string]string{"9007199254740993": "9007199254740993", "-0.5": "-0.5", "1e21": "1e+21", "18446744073709551616": "18446744073709552000", "1e999": "1e999"} {
		if got := appendNumber(nil, []byte(sent)); string(got) != kept {
			t.Errorf("%s is kept as %s, want %s", sent, got, kept)
		}
	}
}
