package serve_test

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/fxamacker/cbor/v2"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	inCBOR      = "application/cbor"
	cborSecrets = "/api/v1/namespaces/default/secrets"
	cborHead    = "\xd9\xd9\xf7"
)

// cborServer is a server of a release with the gate of CBOR.
func cborServer(t *testing.T) *harness.Server {
	return harness.Start(t, func(c *server.Config) {
		c.EmulatedVersion, c.FeatureGates = []string{"1.36"}, []string{"CBORServingAndStorage=true"}
	})
}

// encode is a value in CBOR as clients of Go send it.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := direct.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(cborHead), text...)
}

// decode reads an answer in CBOR as clients of Go do.
func decode(t *testing.T, r harness.Reply, code int) map[string]any {
	t.Helper()
	var v map[string]any
	if r.Code != code || r.Header.Get("Content-Type") != inCBOR || !bytes.HasPrefix(r.Body, []byte(cborHead)) {
		t.Fatalf("answered %d, %s: %q", r.Code, r.Header.Get("Content-Type"), r.Body)
	}
	if err := direct.Unmarshal(r.Body, &v); err != nil {
		t.Fatalf("%x: %v", r.Body, err)
	}
	return v
}

type object = map[string]any

func secret(name string, data object) object {
	return object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": name}, "data": data}
}

// at is the value at a path of names and positions.
func at(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = v.(object)[step]
		case int:
			v = v.([]any)[step]
		}
	}
	return v
}

// TestCBORObjects writes and reads objects.
func TestCBORObjects(t *testing.T) {
	t.Parallel()
	h := cborServer(t)
	send := func(method, path string, code int, body any) object {
		t.Helper()
		return decode(t, h.Send(method, path, inCBOR, encode(t, body), "Accept", inCBOR), code)
	}
	made := send(http.MethodPost, cborSecrets, 201, secret("a", object{"k": []byte{1, 2}, "text": "AQI="}))
	if at(made, "data", "k") != "AQI=" || at(made, "data", "text") != "AQI=" || at(made, "metadata", "managedFields", 0, "fieldsV1", "f:data", ".") == nil {
		t.Errorf("made %v", made)
	}
	if text := h.Get(cborSecrets+"/a").Field(t, "data.k"); text != "AQI=" {
		t.Errorf("JSON has %v", text)
	}
	raw := h.Send(http.MethodGet, cborSecrets+"/a", "", nil, "Accept", inCBOR)
	if want := "\x41k\xd6\x42\x01\x02"; !bytes.Contains(raw.Body, []byte(want)) {
		t.Errorf("bytes are not bytes: %q", raw.Body)
	}
	if head := h.Send(http.MethodHead, cborSecrets+"/a", "", nil, "Accept", inCBOR); head.Header.Get("Content-Length") != fmt.Sprint(len(raw.Body)) {
		t.Errorf("HEAD has a length of %s", head.Header.Get("Content-Length"))
	}
	replaced := secret("a", object{"k": "AA=="})
	if v := send(http.MethodPut, cborSecrets+"/a", 200, replaced); at(v, "data", "k") != "AA==" {
		t.Errorf("replaced by %v", v)
	}
	applied := func(path string, code int, body any) object {
		t.Helper()
		return decode(t, h.Send(http.MethodPatch, path, "application/apply-patch+cbor", encode(t, body), "Accept", inCBOR), code)
	}
	if v := applied(cborSecrets+"/b?fieldManager=me", 201, secret("b", object{"k": []byte("x")})); at(v, "data", "k") != "eA==" || at(v, "metadata", "managedFields", 0, "operation") != "Apply" {
		t.Errorf("applied %v", v)
	}
	if v := applied(cborSecrets+"/b?fieldManager=other", 409, secret("b", object{"k": []byte("y")})); at(v, "reason") != "Conflict" {
		t.Errorf("a conflict is %v", v)
	}
	if v := send(http.MethodDelete, cborSecrets+"/b", 409, object{"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": object{"uid": "x"}}); at(v, "reason") != "Conflict" {
		t.Errorf("the preconditions were not read: %v", v)
	}
	if v := send(http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 201, object{"kind": "SelfSubjectAccessReview",
		"apiVersion": "authorization.k8s.io/v1", "spec": object{"nonResourceAttributes": object{"path": "/", "verb": "get"}}}); at(v, "status", "allowed") != true {
		t.Errorf("a review is %v", v)
	}
	if v := decode(t, h.Send(http.MethodGet, "/apis/apps/v1", "", nil, "Accept", inCBOR), 200); at(v, "kind") != "APIResourceList" {
		t.Errorf("discovery is %v", v)
	}
}

// TestCBORMistakes has answers to wrong bodies, and the forms of errors.
func TestCBORMistakes(t *testing.T) {
	t.Parallel()
	h := cborServer(t)
	for body, want := range map[string]string{
		"a1": "unexpected EOF", "a0a0": "extraneous data", "": "EOF",
		"a2 446d657461 f6 446d657461 f6":                                   `found duplicate map key "meta" at map element index 1`,
		"a1 4464617461 a2 4161 4161 6161 4162":                             `data: cbor: found duplicate map key "a" at map element index 1`,
		strings.Repeat("81", 10001) + "f6":                                 "nested level",
		"a1 4464617461 a1 4161 01":                                         "cannot unmarshal number",
		"a1 446b696e64 46536563726574":                                     "Secret",
		"a2 446b696e64 49436f6e6669674d6170 446d657461 fb7ff0000000000000": "infinity",
	} {
		data, err := hex.DecodeString(strings.ReplaceAll(body, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		v := decode(t, h.Send(http.MethodPost, harness.ConfigMaps+"?fieldValidation=Ignore", inCBOR, data, "Accept", inCBOR), 400)
		if text, _ := at(v, "message").(string); !strings.Contains(text, want) {
			t.Errorf("%.50s: %s, want %s", body, text, want)
		}
	}
	odd := object{"metadata": object{"name": "odd"}, "more": 1}
	if r := h.Send(http.MethodPost, harness.ConfigMaps+"?dryRun=All", inCBOR, encode(t, odd)); r.Code != 201 || !strings.Contains(r.Header.Get("Warning"), `unknown field \"more\"`) {
		t.Errorf("%d, warned %q", r.Code, r.Header.Get("Warning"))
	}
	if r := h.Send(http.MethodPost, harness.ConfigMaps+"?fieldValidation=Strict", inCBOR, encode(t, odd)); r.Code != 400 || !strings.Contains(string(r.Body), "strict decoding error") {
		t.Errorf("strict: %d %s", r.Code, r.Body)
	}
	for _, c := range []struct {
		path, accept, media string
		code                int
	}{
		{cborSecrets + "/none", inCBOR, inCBOR, 404},
		{cborSecrets + "/none", inCBOR + ";pretty=1", inCBOR, 404},
		{cborSecrets, inCBOR + ";as=Table;g=meta.k8s.io;v=v1", "application/json", 406},
		{cborSecrets + "?watch=1", "application/cbor-seq", "application/json", 406},
		{"/api/v1/nonesuch", inCBOR, "application/json", 404},
		{"/apis", inCBOR, "application/json", 406},
		{"/version", inCBOR, "application/json", 406},
		{cborSecrets, "application/json;q=0.9,application/cbor", inCBOR, 200},
		{cborSecrets, "application/*", "application/json", 200},
	} {
		if r := h.Send(http.MethodGet, c.path, "", nil, "Accept", c.accept); r.Code != c.code || r.Header.Get("Content-Type") != c.media {
			t.Errorf("%s, %s: %d %s", c.path, c.accept, r.Code, r.Header.Get("Content-Type"))
		}
	}
	if r := h.Send(http.MethodGet, cborSecrets+"/none", "", nil, "Accept", inCBOR, "Authorization", "Bearer bob-token"); r.Code != 403 || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("a refusal before the negotiation: %d %s", r.Code, r.Header.Get("Content-Type"))
	}
}

// TestCBORLists has pages, metadata alone, compression and watches.
func TestCBORLists(t *testing.T) {
	t.Parallel()
	h := cborServer(t)
	get := func(path, accept string, header ...string) object {
		t.Helper()
		return decode(t, h.Send(http.MethodGet, path, "", nil, append(header, "Accept", accept)...), 200)
	}
	const partial = inCBOR + ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	if v := get(cborSecrets, inCBOR); v["items"] == nil || len(v["items"].([]any)) != 0 {
		t.Errorf("an empty list is %v", v)
	}
	if v := get(cborSecrets, partial); v["items"] != nil {
		t.Errorf("empty metadata is %v", v)
	}
	const several = 30 // more than a head of one byte counts
	for i := range several {
		h.Create(cborSecrets, fmt.Sprintf(`{"metadata":{"name":"s-%02d","labels":{"odd":"%d"}},"data":{"k":"AQI="}}`, i, i%2))
	}
	if v := get(cborSecrets, inCBOR); len(v["items"].([]any)) != several || at(v, "items", 7, "data", "k") != "AQI=" || at(v, "items", 7, "kind") != nil {
		t.Errorf("the list is %v", v)
	}
	if v := get(cborSecrets+"?labelSelector=odd%3D1", partial); len(v["items"].([]any)) != several/2 || at(v, "items", 0, "kind") != "PartialObjectMetadata" {
		t.Errorf("the metadata are %v", v)
	}
	first := get(cborSecrets+"?limit=25", inCBOR)
	next := get(cborSecrets+"?limit=25&continue="+at(first, "metadata", "continue").(string), inCBOR)
	if len(first["items"].([]any)) != 25 || at(first, "metadata", "remainingItemCount") != int64(5) || len(next["items"].([]any)) != 5 {
		t.Errorf("the pages have %d and %d", len(first["items"].([]any)), len(next["items"].([]any)))
	}
	if v := get(cborSecrets+"?fieldSelector=metadata.name%3Ds-03", inCBOR); len(v["items"].([]any)) != 1 {
		t.Errorf("one is %v", v)
	}
	h.Create(cborSecrets, `{"metadata":{"name":"z"},"data":{"k":"`+strings.Repeat("AAAA", 300<<10)+`"}}`)
	packed := h.Send(http.MethodGet, cborSecrets, "", nil, "Accept", inCBOR, "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(bytes.NewReader(packed.Body))
	if err != nil {
		t.Fatalf("%v: %v", packed.Header, err)
	}
	var plain bytes.Buffer
	if _, err := plain.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	packed.Body = plain.Bytes()
	if v := decode(t, packed, 200); len(v["items"].([]any)) != several+1 {
		t.Errorf("%d items are compressed", len(v["items"].([]any)))
	}
	if v := get("/api/v1/componentstatuses", inCBOR); v["items"] == nil {
		t.Errorf("the components are %v", v)
	}
	h.Send(http.MethodDelete, cborSecrets, "", nil).Expect(t, 200, "")
}

// TestCBORWatch follows objects in CBOR, alone and as messages of a WebSocket.
func TestCBORWatch(t *testing.T) {
	t.Parallel()
	h := cborServer(t)
	h.Create(cborSecrets, `{"metadata":{"name":"a"},"data":{"k":"AQI="}}`)
	for accept, kind := range map[string]string{inCBOR: "Secret", inCBOR + ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1": "PartialObjectMetadata"} {
		s := h.Watch(cborSecrets+"?watch=1&resourceVersion=0", "Accept", accept)
		if got := s.Resp.Header.Get("Content-Type"); got != "application/cbor-seq" {
			t.Errorf("the media type is %s", got)
		}
		events := cbor.NewDecoder(s.Resp.Body)
		next := func() object {
			t.Helper()
			var raw cbor.RawMessage
			var event object
			if err := events.Decode(&raw); err != nil {
				t.Fatal(err)
			}
			if err := direct.Unmarshal(raw, &event); err != nil {
				t.Fatalf("%x: %v", raw, err)
			}
			return event
		}
		h.MergePatch(cborSecrets+"/a", `{"metadata":{"labels":{"of":"`+kind+`"}}}`)
		for _, want := range []string{"ADDED", "MODIFIED"} {
			if e := next(); at(e, "type") != want || at(e, "object", "kind") != kind || at(e, "object", "metadata", "name") != "a" {
				t.Errorf("%s: %v", want, e)
			}
		}
	}
	decode(t, h.Send(http.MethodGet, cborSecrets+"?watch=1&resourceVersion=x", "", nil, "Accept", inCBOR), 400)
	s, err := h.Open(cborSecrets+"?watch=1", nil, "Accept", inCBOR, "Authorization", "Bearer "+harness.AdminToken)
	if err != nil {
		t.Fatal(err)
	}
	kind, message, err := s.Conn.Read(t.Context())
	var event object
	if err != nil || kind != websocket.MessageBinary || direct.Unmarshal(message, &event) != nil || at(event, "object", "metadata", "name") != "a" {
		t.Errorf("a message is %v %q %v", kind, message, err)
	}
}

// TestCBORCustom has objects of a custom resource, whose strings stay as they are.
func TestCBORCustom(t *testing.T) {
	t.Parallel()
	h := cborServer(t)
	gears := "/apis/example.com/v1/namespaces/default/gears"
	definition := object{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "gears.example.com"},
		"spec": object{"group": "example.com", "scope": "Namespaced", "names": object{"plural": "gears", "singular": "gear", "kind": "Gear", "listKind": "GearList"},
			"versions": []any{object{"name": "v1", "served": true, "storage": true, "schema": object{"openAPIV3Schema": object{"type": "object", "properties": object{
				"spec": object{"type": "object", "properties": object{"n": object{"type": "integer", "maximum": 9}, "f": object{"type": "number"},
					"raw": object{"type": "string", "format": "byte"}}}}}}}}}}
	made := h.Send(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", inCBOR, encode(t, definition), "Accept", inCBOR)
	decode(t, made, 201)
	if want := "\x47maximum\xf9\x48\x80"; !bytes.Contains(made.Body, []byte(want)) {
		t.Errorf("a number of type number is not a float: %q", made.Body)
	}
	gear := object{"apiVersion": "example.com/v1", "kind": "Gear", "metadata": object{"name": "g"}, "spec": object{"n": 2, "f": 1.5, "raw": []byte("hello")}}
	if v := decode(t, h.Send(http.MethodPost, gears, inCBOR, encode(t, gear), "Accept", inCBOR), 201); at(v, "spec", "raw") != "aGVsbG8=" || at(v, "spec", "f") != 1.5 {
		t.Errorf("made %v", v)
	}
	list := h.Send(http.MethodGet, gears, "", nil, "Accept", inCBOR)
	if v := decode(t, list, 200); at(v, "items", 0, "kind") != "Gear" || at(v, "metadata", "continue") != "" || !bytes.Contains(list.Body, []byte("\x43raw\x48aGVsbG8=")) {
		t.Errorf("the list is %v, %q", v, list.Body)
	}
	decode(t, h.Send(http.MethodPatch, gears+"/g", "text/plain", nil, "Accept", inCBOR), 415)
	gear["spec"] = object{"f": 2.0}
	if v := decode(t, h.Send(http.MethodPatch, gears+"/g?fieldManager=me&force=true", "application/apply-patch+cbor", encode(t, gear), "Accept", inCBOR), 200); at(v, "spec", "f") != int64(2) {
		t.Errorf("applied %v", v)
	}
}

// TestCBORDocuments: the published documents list CBOR where it is served, in their text and in the binary
// form, and not for custom resources, as kube-apiserver has it.
func TestCBORDocuments(t *testing.T) {
	t.Parallel()
	h := cborServer(t)
	v2, v3 := h.Get("/openapi/v2"), h.Get("/openapi/v3/apis/apps/v1")
	const want = "[application/json application/yaml application/vnd.kubernetes.protobuf application/cbor " +
		"application/json;stream=watch application/vnd.kubernetes.protobuf;stream=watch application/cbor-seq]"
	var second, third struct{ Paths map[string]map[string]any }
	for _, into := range []struct {
		text []byte
		to   any
	}{{v2.Body, &second}, {v3.Body, &third}} {
		if err := json.Unmarshal(into.text, into.to); err != nil {
			t.Fatal(err)
		}
	}
	if got := fmt.Sprint(at(second.Paths["/apis/apps/v1/deployments"]["get"], "produces")); got != want {
		t.Errorf("a list has %s", got)
	}
	if got := fmt.Sprint(at(second.Paths["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"], "consumes", 4)); got != "application/apply-patch+cbor" {
		t.Errorf("a patch reads %s", got)
	}
	if got := fmt.Sprint(at(second.Paths["/apis/apps/"]["get"], "produces")); strings.Contains(got, "cbor") {
		t.Errorf("a group has %s", got)
	}
	contents := at(third.Paths["/apis/apps/v1/deployments"]["get"], "responses", "200", "content").(object)
	if fmt.Sprint(contents[inCBOR]) != fmt.Sprint(contents["application/json"]) || contents["application/cbor-seq"] == nil {
		t.Errorf("the contents of a list are %v", contents)
	}
	binary := h.Send(http.MethodGet, "/openapi/v2", "", nil, "Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
	if binary.Code != 200 || !bytes.Contains(binary.Body, []byte("application/cbor-seq")) {
		t.Errorf("the binary form: %d", binary.Code)
	}
	if plain := harness.Start(t, emulating("1.36")).Get("/openapi/v2"); bytes.Contains(plain.Body, []byte("cbor")) || plain.Header.Get("Etag") == v2.Header.Get("Etag") {
		t.Errorf("without the gate: %s", plain.Header.Get("Etag"))
	}
}

// TestNoCBOR: releases without the gate, and those in which it is off, refuse CBOR.
func TestNoCBOR(t *testing.T) {
	t.Parallel()
	for _, release := range []string{"1.25", "1.31", "1.36"} {
		h := harness.Start(t, emulating(release))
		r := h.Send(http.MethodGet, cborSecrets, "", nil, "Accept", inCBOR)
		r.Expect(t, 406, "NotAcceptable")
		if strings.Contains(string(r.Body), "cbor") {
			t.Errorf("%s offers CBOR: %s", release, r.Body)
		}
		h.Send(http.MethodPost, cborSecrets, inCBOR, encode(t, secret("a", nil))).Expect(t, 415, "UnsupportedMediaType")
		h.Send(http.MethodPatch, cborSecrets+"/a?fieldManager=me", "application/apply-patch+cbor", encode(t, secret("a", nil))).Expect(t, 415, "UnsupportedMediaType")
	}
	c := server.Config{InMemory: true}
	c.EmulatedVersion, c.FeatureGates = []string{"1.31"}, []string{"CBORServingAndStorage=true"}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "no feature gate CBORServingAndStorage") {
		t.Errorf("the gate before its release: %v", err)
	}
}
