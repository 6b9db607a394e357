package apply

import (
	"errors"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

func untyped(t *testing.T, text string) document.Value {
	t.Helper()
	doc, err := document.DecodeAny([]byte(text), document.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func refused(t *testing.T, k *Kind, live document.Value, text string) *api.Error {
	t.Helper()
	_, err := k.Apply(live, untyped(t, text), Write{Manager: "m", Time: "2022-01-01T00:00:00Z"}, false)
	var e *api.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s is refused with %v", text, err)
	}
	return e
}

func TestConflictMessages(t *testing.T) {
	k := coreKind("ConfigMap")
	live := object(t, k, strings.Replace(configMap, `"name":"a"`, `"name":"a","managedFields":[`+
		`{"manager":"b","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{},"f:l":{}}}},`+
		`{"manager":"a","operation":"Update","apiVersion":"v1","time":"2022-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}},"subresource":"status"}]`, 1))
	live.Get("data").SetString("l", "w")
	e := refused(t, k, live, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"l":"x"}}`)
	if want := `Apply failed with 1 conflict: conflict with "b": .data.l`; e.Message != want || e.Code != 409 || e.Reason != api.ReasonConflict {
		t.Errorf("got %d %s %q, want %q", e.Code, e.Reason, e.Message, want)
	}
	if c := e.Causes[0]; c != (api.Cause{Reason: api.CauseConflict, Message: `conflict with "b"`, Field: ".data.l"}) {
		t.Errorf("the cause is %+v", c)
	}
	e = refused(t, k, live, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"x","l":"x"}}`)
	want := "Apply failed with 3 conflicts: conflicts with \"a\" with subresource \"status\" using v1:\n- .data.k\nconflicts with \"b\":\n- .data.k\n- .data.l"
	if e.Message != want || len(e.Causes) != 3 {
		t.Errorf("got %q with %v, want %q", e.Message, e.Causes, want)
	}
}

func TestConfigurationsThatCannotBeApplied(t *testing.T) {
	k := appsKind("Deployment")
	for _, c := range []struct {
		text, message string
		code          int
	}{
		{`{"apiVersion":"v1"}`, "Incorrect version specified in apply patch. Specified patch version: v1, expected: apps/v1", 400},
		{`{"apiVersion":"apps/v1"}`, "the configuration must say its kind", 400},
		{`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"managedFields":[]}}`, "metadata.managedFields must be nil", 400},
		{`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"n"},"spec":{"template":{"spec":{"containers":[{"name":"c"},{"name":"c"}]}}}}`,
			`failed to create typed patch object (n/d; apps/v1, Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name="c"]`, 422},
		{`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"n","finalizers":["a/b","a/b"]},"spec":{"template":{"spec":{"containers":[{"name":"c","ports":[{"containerPort":80},{"containerPort":80,"protocol":"TCP"}]}]}}}}`,
			"failed to create typed patch object (n/d; apps/v1, Kind=Deployment): errors:\n  .metadata.finalizers: duplicate entries for key [=\"a/b\"]\n  .spec.template.spec.containers[name=\"c\"].ports: duplicate entries for key [containerPort=80,protocol=\"TCP\"]", 422},
		{`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","namespace":"n"},"spec":{"template":{"spec":{"imagePullSecrets":[{"name":"s"},{}]}}}}`,
			`failed to create typed patch object (n/d; apps/v1, Kind=Deployment): .spec.template.spec.imagePullSecrets: element 1: associative list with keys has an element that omits a key field (name)`, 422},
		{`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","finalizers":[null]}}`,
			"failed to create typed patch object (/d; apps/v1, Kind=Deployment): .metadata.finalizers: element 0: associative list without keys has an element that is no scalar", 422},
	} {
		if e := refused(t, k, document.Value{}, c.text); e.Message != c.message || e.Code != c.code {
			t.Errorf("got  %d %s\nwant %d %s", e.Code, e.Message, c.code, c.message)
		}
	}
}

// An element may lack a key of several, which makes it another element than those that have the key.
func TestKeysThatAreAbsent(t *testing.T) {
	k := claimKind()
	claim := func(devices string) string {
		return `{"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"n"},"status":{"devices":[` + devices + `]}}`
	}
	const whole, shared = `{"driver":"d","pool":"p","device":"x"}`, `{"driver":"d","pool":"p","device":"x","shareID":"s"}`
	w := Write{Manager: "m", Time: "2022-01-01T00:00:00Z"}
	body, err := k.Apply(document.Value{}, untyped(t, claim(whole+","+shared)), w, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"k:{\"device\":\"x\",\"driver\":\"d\",\"pool\":\"p\"}":{`, `"k:{\"device\":\"x\",\"driver\":\"d\",\"pool\":\"p\",\"shareID\":\"s\"}":{`} {
		if !strings.Contains(string(body), want) {
			t.Errorf("%s is not in %s", want, body)
		}
	}
	live := object(t, k, string(body))
	if body, err = k.Apply(live, untyped(t, claim(shared)), w, false); err != nil {
		t.Fatal(err)
	}
	if left := untyped(t, string(body)).At("status", "devices"); left.Len() != 1 || left.Index(0).Get("shareID").Text() != "s" {
		t.Errorf("without the device that is not shared: %s", body)
	}
	e := refused(t, k, document.Value{}, claim(whole+","+shared+","+whole))
	if want := `failed to create typed patch object (n/c; resource.k8s.io/v1, Kind=ResourceClaim): .status.devices: duplicate entries for key [device="x",driver="d",pool="p"]`; e.Message != want || e.Code != 422 {
		t.Errorf("got %d %s, want %s", e.Code, e.Message, want)
	}
}

// A key that is always written is "" when a configuration leaves it out.
func TestKeysThatAreAlwaysWritten(t *testing.T) {
	body, err := appsKind("Deployment").Apply(document.Value{}, untyped(t, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"spec":{"template":{"spec":{"containers":[{"image":"i"}]}}}}`), Write{Manager: "m"}, false)
	if err != nil || !strings.Contains(string(body), `"f:containers":{"k:{\"name\":\"\"}":{".":{},"f:image":{}}}`) {
		t.Errorf("got %s, %v", body, err)
	}
}

func TestApplyThatChangesOnlyOrderLeavesTheObjectAlone(t *testing.T) {
	k := coreKind("Pod")
	live := object(t, k, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"d"},{"name":"c"}]}}`)
	w := Write{Manager: "m", Time: "2022-01-01T00:00:00Z"}
	record(t, k, document.Value{}, live, w)
	body, err := k.Apply(live, untyped(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c"},{"name":"d"}]}}`), w, false)
	if err != nil {
		t.Fatal(err)
	}
	got := untyped(t, string(body))
	if first := got.At("spec", "containers").Index(0).Get("name").Text(); first != "d" {
		t.Errorf("the first container is %s", first)
	}
	if e := got.At("metadata", "managedFields").Index(0); !e.Get("operation").Equals("Apply") || e.Get("time").Exists() {
		t.Errorf("the entry is %s", e.AppendJSON(nil))
	}
}

func TestUnknownFieldsAreLeftOut(t *testing.T) {
	k := coreKind("ConfigMap")
	body, err := k.Apply(document.Value{}, untyped(t, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","b<c":1},"data":{"k<":"v&"},"what":{"is":"this"}}`), Write{Manager: "m", Time: "2022-01-01T00:00:00Z"}, false)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(body); strings.Contains(text, "what") || strings.Contains(text, "b<c") || !strings.Contains(text, `"f:k<"`) {
		t.Errorf("the result is %s", text)
	}
}

// twoVersions has v1, where the field is data, and v2, where it is items.
type twoVersions struct{ table *schema.Table }

func (c twoVersions) Type(string) (*schema.Table, schema.Ref) { return c.table, 0 }

func (c twoVersions) Convert(obj document.Value, from, to string) (*document.Document, bool, error) {
	if to != "v1" && to != "v2" {
		return nil, false, nil
	}
	text := string(obj.AppendJSON(nil))
	if from != to {
		text = strings.NewReplacer(`"data"`, `"items"`, `"items"`, `"data"`).Replace(text)
	}
	doc, err := document.DecodeAny([]byte(text), document.Limits{})
	return doc, true, err
}

func TestEntriesOfOtherVersions(t *testing.T) {
	table := &schema.Table{Types: []schema.Type{{Kind: schema.Any, Elem: schema.None}}}
	k := &Kind{Table: table, APIVersion: "v2", Name: "Thing", Versions: twoVersions{table}}
	entry := func(manager, version, field string) string {
		return `{"manager":"` + manager + `","operation":"Apply","apiVersion":"` + version + `","fieldsType":"FieldsV1","fieldsV1":{"f:` + field + `":{"f:a":{},"f:b":{}}}}`
	}
	live := untyped(t, `{"apiVersion":"v2","kind":"Thing","items":{"a":1,"b":2,"c":3},"metadata":{"name":"x","managedFields":[`+
		entry("gone", "v0", "data")+`,`+entry("m", "v1", "data")+`,`+entry("old", "v1", "data")+`]}}`)
	w := Write{Manager: "m", Time: "2022-01-01T00:00:00Z"}
	_, err := k.Apply(live, untyped(t, `{"apiVersion":"v2","kind":"Thing","items":{"a":7}}`), w, false)
	var e *api.Error
	if !errors.As(err, &e) || len(e.Causes) != 1 || e.Causes[0].Field != ".data.a" {
		t.Fatalf("the error is %v", err)
	}
	body, err := k.Apply(live, untyped(t, `{"apiVersion":"v2","kind":"Thing","items":{"a":7}}`), w, true)
	if err != nil {
		t.Fatal(err)
	}
	got := untyped(t, string(body))
	if text := string(got.Get("items").AppendJSON(nil)); !equal(got.Get("items"), untyped(t, `{"a":7,"b":2,"c":3}`)) {
		t.Errorf("the items are %s", text)
	}
	want := `[{"manager":"old","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:b":{}}}},` +
		`{"manager":"m","operation":"Apply","apiVersion":"v2","time":"2022-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:items":{".":{},"f:a":{}}}}]`
	if text := string(got.At("metadata", "managedFields").AppendJSON(nil)); text != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	// Fields without another owner are removed, though they were applied in another
	// version.
	live = untyped(t, `{"apiVersion":"v2","kind":"Thing","items":{"a":1,"b":2,"c":3},"metadata":{"name":"x","managedFields":[`+entry("m", "v1", "data")+`]}}`)
	if body, err = k.Apply(live, untyped(t, `{"apiVersion":"v2","kind":"Thing","items":{"a":1}}`), w, false); err != nil {
		t.Fatal(err)
	}
	if items := untyped(t, string(body)).Get("items"); !equal(items, untyped(t, `{"a":1,"c":3}`)) {
		t.Errorf("the items are %s", items.AppendJSON(nil))
	}
}

func TestSchemaThatBecameAtomic(t *testing.T) {
	k := coreKind("ConfigMap")
	typ := k.Table.Types[k.Type]
	s, err := readText(t, `{"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"u\"}":{"f:name":{}}}},"f:data":{"f:k":{}}}`)
	if err != nil || typ.Name == "" {
		t.Fatal(err)
	}
	got := string(k.grammar().reconcile(k.Type, s).AppendFields(nil))
	if want := `{"f:data":{"f:k":{}},"f:metadata":{"f:ownerReferences":{"k:{\"uid\":\"u\"}":{}}}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
