package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
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
	gadgetsAs   = definitionsPath + "/gadgets.shop.example.com"
	everyGadget = `{"jsonPath":".spec.color"},{"jsonPath":".spec.on"},{"jsonPath":".spec.tags.a"}`
)

func gadget(name, spec string) string {
	return fmt.Sprintf(`{"apiVersion":"shop.example.com/v1","kind":"Gadget","metadata":{"name":%q,"labels":{"is":%[1]q}},"spec":{%s}}`, name, spec)
}

// selected are the names in a list.
func (h *harness) selected(path string) string {
	h.t.Helper()
	list := h.get(path)
	list.expect(h.t, http.StatusOK, "")
	var names []string
	for _, item := range list.field(h.t, "items").([]any) {
		names = append(names, item.(map[string]any)["metadata"].(map[string]any)["name"].(string))
	}
	return strings.Join(names, " ")
}

// Objects are selected by the fields that their version declares, with the values that it
// shows.
func TestSelectableFields(t *testing.T) {
	h := startServer(t, nil)
	h.create(definitionsPath, gadgets(everyGadget))
	h.awaitCode(gadgetsV1, http.StatusOK)
	watches := map[string]*stream{}
	for _, path := range []string{gadgetsV1 + "?fieldSelector=spec.color=red", gadgetsV2 + "?fieldSelector=spec.color="} {
		watches[path] = h.watch(path + "&watch=true")
	}
	h.create(gadgetsV1, gadget("a", `"color":"red","size":3,"on":true`))
	h.create(gadgetsV1, gadget("b", `"color":"a\\b\"<","tags":{"a":"x"}`))
	h.create(gadgetsV1, gadget("c", `"color":"red","size":-4`))
	h.create(gadgetsV1, gadget("d", `"on":false`))
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
		if got := h.selected(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	page := h.get(gadgetsV1 + "?fieldSelector=spec.color=red&limit=1")
	if got := h.selected(gadgetsV1 + "?fieldSelector=spec.color=red&limit=1&continue=" + page.field(t, "metadata.continue").(string)); got != "c" {
		t.Errorf("the second page has %q", got)
	}
	h.get(gadgetsV1+"?fieldSelector=spec.size=3").expect(t, http.StatusBadRequest, "BadRequest")
	h.patch(gadgetsV1+"/a", `{"spec":{"color":"blue"}}`)
	h.patch(gadgetsV1+"/c", `{"spec":{"color":null}}`)
	for path, want := range map[string][]string{gadgetsV1 + "?fieldSelector=spec.color=red": {"ADDED a", "ADDED c", "DELETED a", "DELETED c"}, gadgetsV2 + "?fieldSelector=spec.color=": {"ADDED d", "ADDED c"}} {
		for _, event := range want {
			watches[path].expect(event)
		}
	}
	h.watch(gadgetsV1 + "?fieldSelector=spec.color=blue&watch=true").expect("ADDED a")
	h.remove(gadgetsV1+"?fieldSelector=spec.color=blue", "").expect(t, http.StatusOK, "")
	if got := h.selected(gadgetsV1); got != "b c d" {
		t.Errorf("a deletecollection left %s", got)
	}
	h.awaitText("/openapi/v3/apis/shop.example.com/v2", `"x-kubernetes-selectable-fields":[{"fieldPath":"spec.color"},{"fieldPath":"spec.size"}]`)
}

// Objects from before a definition declared a field are selected by it.
func TestSelectableFieldsChange(t *testing.T) {
	h := startServer(t, nil)
	h.create(definitionsPath, gadgets(""))
	h.awaitCode(gadgetsV1, http.StatusOK)
	h.create(gadgetsV1, gadget("a", `"color":"red"`))
	h.get(gadgetsV1+"?fieldSelector=spec.color=red").expect(t, http.StatusBadRequest, "BadRequest")
	h.send("PATCH", gadgetsAs, jsonPatch, []byte(`[{"op":"add","path":"/spec/versions/0/selectableFields","value":[{"jsonPath":".spec.color"}]}]`)).expect(t, http.StatusOK, "")
	h.awaitCode(gadgetsV1+"?fieldSelector=spec.color=red", http.StatusOK)
	if got := h.selected(gadgetsV1 + "?fieldSelector=spec.color=red"); got != "a" {
		t.Errorf("selected: %q", got)
	}
}

// A converter decides what an object has in the version of the request.
func TestSelectableFieldsConverted(t *testing.T) {
	h := startServer(t, nil)
	h.gaugesBy(newConversionHook(t))
	old, beta := h.watch(gaugesV1+"?watch=true&fieldSelector=spec.host=h"), h.watch(gaugesBeta+"?watch=true&fieldSelector=spec.address=h:1")
	h.create(gaugesV1, gauge("v1", "a", `,"spec":{"host":"h","port":"1"}`))
	h.create(gaugesBeta, gauge("v1beta1", "b", `,"spec":{"address":"h:2"}`))
	h.create(gaugesBeta, gauge("v1beta1", "c", `,"spec":{"address":"h:1"}`))
	for path, want := range map[string]string{gaugesBeta + "?fieldSelector=spec.address=h:1": "a c", gaugesV1 + "?fieldSelector=spec.host=h": "a b c", gaugesBeta + "?fieldSelector=spec.address=h:1&limit=2": "a c"} {
		if got := h.selected(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	h.patch(gaugesV1+"/a", `{"spec":{"port":"3"}}`)
	h.patch(gaugesV1+"/c", `{"spec":{"host":"x"}}`)
	for stream, want := range map[*stream][]string{old: {"ADDED a", "ADDED b", "ADDED c", "MODIFIED a", "DELETED c"}, beta: {"ADDED a", "ADDED c", "DELETED a", "DELETED c"}} {
		for _, event := range want {
			stream.expect(event)
		}
	}
	h.watch(gaugesBeta + "?watch=true&fieldSelector=spec.address=h:2").expect("ADDED b")
}

// Wrong fields are refused at their paths.
func TestSelectableFieldsRefused(t *testing.T) {
	h := startServer(t, nil)
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
		if got := h.post(definitionsPath, gadgets(fields)); got.code != http.StatusUnprocessableEntity || !strings.Contains(string(got.body), want) {
			t.Errorf("%s: %d %s", fields, got.code, got.body)
		}
	}
}
