package custom_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// gadgets are two versions of different schemas; only v2 has a number to select by.
func gadgets(v1Fields string) string {
	return fmt.Sprintf(`{"metadata":{"name":"gadgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget"},"versions":[
		{"name":"v1","served":true,"storage":true,"selectableFields":[%s],"schema":{"openAPIV3Schema":{"type":"object","properties":{
			"spec":{"type":"object","properties":{"color":{"type":"string"},"on":{"type":"boolean"},"size":{"type":"integer"},"tags":{"type":"object","additionalProperties":{"type":"string"}}}}}}}},
		{"name":"v2","served":true,"storage":false,"selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.size"}],"schema":{"openAPIV3Schema":{"type":"object","properties":{
			"spec":{"type":"object","properties":{"color":{"type":"string"},"size":{"type":"integer"}}}}}}}]}}`, v1Fields)
}

const (
	gadgetsV1   = "/apis/shop.example.com/v1/namespaces/default/gadgets"
	gadgetsV2   = "/apis/shop.example.com/v2/namespaces/default/gadgets"
	gadgetsAs   = harness.DefinitionsPath + "/gadgets.shop.example.com"
	everyGadget = `{"jsonPath":".spec.color"},{"jsonPath":".spec.on"},{"jsonPath":".spec.tags.a"}`
)

func gadget(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"shop.example.com/v1","kind":"Gadget","metadata":{"name":%q,"labels":{"is":%[1]q}},"spec":{%s}}`, name, spec)
}

// selected are the names in a list.
func selected(h *harness.Server, path string) string {
	h.T.Helper()
	list := h.Get(path)
	list.Expect(h.T, http.StatusOK, "")
	var names []string
	for _, item := range list.Field(h.T, "items").([]any) {
		names = append(names, item.(map[string]any)["metadata"].(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

// Objects are selected by the fields that their version declares, with the values that it
// shows.
func TestSelectableFields(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.DefinitionsPath, gadgets(everyGadget))
	h.AwaitCode(gadgetsV1, http.StatusOK)
	watches := map[string]*harness.Stream{}
	for _, path := range []string{gadgetsV1 + "?fieldSelector=spec.color=red", gadgetsV2 + "?fieldSelector=spec.color="} {
		watches[path] = h.Watch(path + "&watch=true")
	}
	h.Create(gadgetsV1, gadget("a", `"color":"red","size":3,"on":true`))
	h.Create(gadgetsV1, gadget("b", `"color":"a\\b\"<","tags":{"a":"x"}`))
	h.Create(gadgetsV1, gadget("c", `"color":"red","size":-4`))
	h.Create(gadgetsV1, gadget("d", `"on":false`))
	for path, want := range map[string]string{
		gadgetsV1 + "?fieldSelector=spec.color=red":                      "a c",
		gadgetsV1 + "?fieldSelector=spec.color!=red":                     "b d",
		gadgetsV1 + "?fieldSelector=spec.color=":                         "d",
		gadgetsV1 + "?fieldSelector=spec.color=a%5C%5Cb%22%3C":           "b",
		gadgetsV1 + "?fieldSelector=spec.color=red,spec.on=true":         "a",
		gadgetsV1 + "?fieldSelector=spec.on=false":                       "d",
		gadgetsV1 + "?fieldSelector=spec.tags.a=x":                       "b",
		gadgetsV1 + "?fieldSelector=spec.color=red&labelSelector=is!=a":  "c",
		gadgetsV1 + "?fieldSelector=spec.color=red,metadata.name=c":      "c",
		gadgetsV1 + "?fieldSelector=spec.color=red,metadata.name=b":      "",
		gadgetsV1 + "?fieldSelector=spec.color=red&limit=1":              "a",
		gadgetsV2 + "?fieldSelector=spec.color=":                         "d",
		gadgetsV2 + "?fieldSelector=spec.size=-4":                        "c",
		"/apis/shop.example.com/v2/gadgets?fieldSelector=spec.color=red": "a c",
	} {
		if got := selected(h, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	page := h.Get(gadgetsV1 + "?fieldSelector=spec.color=red&limit=1")
	if got := selected(h, gadgetsV1+"?fieldSelector=spec.color=red&limit=1&continue="+page.Field(t, "metadata.continue").(string)); got != "c" {
		t.Errorf("the second page has %q", got)
	}
	h.Get(gadgetsV1+"?fieldSelector=spec.size=3").Expect(t, http.StatusBadRequest, "BadRequest")
	h.MergePatch(gadgetsV1+"/a", `{"spec":{"color":"blue"}}`)
	h.MergePatch(gadgetsV1+"/c", `{"spec":{"color":null}}`)
	for path, want := range map[string][]string{gadgetsV1 + "?fieldSelector=spec.color=red": {"ADDED a", "ADDED c", "DELETED a", "DELETED c"}, gadgetsV2 + "?fieldSelector=spec.color=": {"ADDED d", "ADDED c"}} {
		for _, event := range want {
			watches[path].Expect(event)
		}
	}
	h.Watch(gadgetsV1 + "?fieldSelector=spec.color=blue&watch=true").Expect("ADDED a")
	h.Remove(gadgetsV1+"?fieldSelector=spec.color=blue", "").Expect(t, http.StatusOK, "")
	if got := selected(h, gadgetsV1); got != "b c d" {
		t.Errorf("a deletecollection left %s", got)
	}
	h.AwaitText("/openapi/v3/apis/shop.example.com/v2", `"x-kubernetes-selectable-fields":[{"fieldPath":"spec.color"},{"fieldPath":"spec.size"}]`)
}

// Objects from before a definition declared a field are selected by it.
func TestSelectableFieldsChange(t *testing.T) {
	h := harness.Start(t, nil)
	h.Create(harness.DefinitionsPath, gadgets(""))
	h.AwaitCode(gadgetsV1, http.StatusOK)
	h.Create(gadgetsV1, gadget("a", `"color":"red"`))
	h.Get(gadgetsV1+"?fieldSelector=spec.color=red").Expect(t, http.StatusBadRequest, "BadRequest")
	h.Send("PATCH", gadgetsAs, harness.JSONPatchMedia, []byte(`[{"op":"add","path":"/spec/versions/0/selectableFields","value":[{"jsonPath":".spec.color"}]}]`)).Expect(t, http.StatusOK, "")
	h.AwaitCode(gadgetsV1+"?fieldSelector=spec.color=red", http.StatusOK)
	if got := selected(h, gadgetsV1+"?fieldSelector=spec.color=red"); got != "a" {
		t.Errorf("selected: %q", got)
	}
}

// A converter decides what an object has in the version of the request.
func TestSelectableFieldsConverted(t *testing.T) {
	h := harness.Start(t, nil)
	h.GaugesBy(harness.NewConversionHook(t))
	old, beta := h.Watch(harness.GaugesV1+"?watch=true&fieldSelector=spec.host=h"), h.Watch(harness.GaugesBeta+"?watch=true&fieldSelector=spec.address=h:1")
	h.Create(harness.GaugesV1, harness.Gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`))
	h.Create(harness.GaugesBeta, harness.Gauge("v1beta1", "b", `,"spec":{"address":"h:2"}`))
	h.Create(harness.GaugesBeta, harness.Gauge("v1beta1", "c", `,"spec":{"address":"h:1"}`))
	for path, want := range map[string]string{harness.GaugesBeta + "?fieldSelector=spec.address=h:1": "a c", harness.GaugesV1 + "?fieldSelector=spec.host=h": "a b c", harness.GaugesBeta + "?fieldSelector=spec.address=h:1&limit=2": "a c"} {
		if got := selected(h, path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	h.MergePatch(harness.GaugesV1+"/a", `{"spec":{"port":"3"}}`)
	h.MergePatch(harness.GaugesV1+"/c", `{"spec":{"host":"x"}}`)
	for stream, want := range map[*harness.Stream][]string{old: {"ADDED a", "ADDED b", "ADDED c", "MODIFIED a", "DELETED c"}, beta: {"ADDED a", "ADDED c", "DELETED a", "DELETED c"}} {
		for _, event := range want {
			stream.Expect(event)
		}
	}
	h.Watch(harness.GaugesBeta + "?watch=true&fieldSelector=spec.address=h:2").Expect("ADDED b")
}

// Wrong fields are refused at their paths.
func TestSelectableFieldsRefused(t *testing.T) {
	h := harness.Start(t, nil)
	many := slices.Repeat([]string{`{"jsonPath":".spec.tags.x%d"}`}, 9)
	for i := range many {
		many[i] = fmt.Sprintf(many[i], i)
	}
	for fields, want := range map[string]string{
		`{}`:                                             "spec.versions[0].selectableFields[0].jsonPath: Required value",
		`{"jsonPath":"spec.color"}`:                      `is an invalid path: expected [ or . but got: spec.color`,
		`{"jsonPath":".spec.none"}`:                      `is an invalid path: does not refer to a valid field`,
		`{"jsonPath":".spec['color']"}`:                  `is an invalid path: array notation is not allowed`,
		`{"jsonPath":".metadata.name"}`:                  `is an invalid path: does not refer to a valid field`,
		`{"jsonPath":".spec"}`:                           `must point to a field of type string, boolean or integer`,
		everyGadget + `,` + `{"jsonPath":".spec.color"}`: `selectableFields[3].jsonPath: Duplicate value: \".spec.color\"`,
		strings.Join(many, ","):                          `selectableFields: Too many: 9: must have at most 8 items`,
	} {
		if got := h.Post(harness.DefinitionsPath, gadgets(fields)); got.Code != http.StatusUnprocessableEntity || !strings.Contains(string(got.Body), want) {
			t.Errorf("%s: %d %s", fields, got.Code, got.Body)
		}
	}
}
