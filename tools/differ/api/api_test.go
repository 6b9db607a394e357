package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/tools/differ/exec"
)

const podDoc = `{"components":{"schemas":{
 "io.k8s.api.core.v1.Pod":{"type":"object","properties":{"spec":{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodSpec"}]},"size":{"allOf":[{"$ref":"#/components/schemas/io.k8s.Quantity"}]}},
   "x-kubernetes-group-version-kind":[{"group":"","version":"v1","kind":"Pod"}]},
 "io.k8s.Quantity":{"type":"string"},
 "io.k8s.api.core.v1.PodSpec":{"type":"object","required":["containers"],"properties":{
   "containers":{"type":"array","items":{"type":"string"}},"nodeSelector":{"type":"object","additionalProperties":{"type":"string"}},"policy":{"type":"string","enum":["A","B"]}}}}}}`

// served answers like a server with pods, and with one group that only the old document describes.
func served(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	body, ok := map[string]string{
		"/apis":              `{"groups":[{"name":"agg.example.com","versions":[{"version":"v1"}]}]}`,
		"/openapi/v3":        `{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=1"}}}`,
		"/openapi/v3/api/v1": podDoc,
		"/openapi/v2": `{"definitions":{"io.x.Agg":{"type":"object","properties":{"a":{"type":"string"}},
			"x-kubernetes-group-version-kind":[{"group":"agg.example.com","version":"v1","kind":"Agg"}]}}}`,
		"/api/v1":                  `{"resources":[{"name":"pods","kind":"Pod","namespaced":true,"verbs":["create","get"]},{"name":"pods/status","kind":"Pod","namespaced":true,"verbs":["get"]}]}`,
		"/apis/agg.example.com/v1": `{"resources":[{"name":"aggs","kind":"Agg","verbs":["create"]}]}`,
	}[r.URL.Path]
	if !ok {
		w.WriteHeader(404)
	}
	fmt.Fprint(w, body)
}

func TestLoad(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(served))
	defer srv.Close()
	s, err := exec.NewSide(srv.URL, "", 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Load(context.Background(), s)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Resources) != 2 {
		t.Fatalf("%d resources", len(a.Resources))
	}
	agg, pods := a.Resources[0], a.Resources[1]
	if agg.ID() != "aggs.agg.example.com/v1" || agg.Path("n") != "/apis/agg.example.com/v1/aggs" || agg.Schema.Property("a").Kind() != "string" {
		t.Errorf("%+v", agg)
	}
	if pods.Path("n") != "/api/v1/namespaces/n/pods" || pods.Path("") != "/api/v1/pods" || !reflect.DeepEqual(pods.Subresources, []string{"status"}) {
		t.Errorf("%+v", pods)
	}
	spec := pods.Schema.Property("spec")
	if spec.Type != "PodSpec" || !spec.Required("containers") || spec.Property("containers").Items().Kind() != "string" {
		t.Errorf("%+v", spec)
	}
	if spec.Property("nodeSelector").Kind() != "map" || spec.Property("nodeSelector").Property("any").Kind() != "string" || len(spec.Property("policy").Enum()) != 2 {
		t.Error("maps or enums are not understood")
	}
	if pods.Schema.Property("size").Kind() != "quantity" || spec.Property("none").Kind() != "any" {
		t.Error("quantities or unknown fields are not understood")
	}
}
