package emit

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	kubeproto "k8s.io/kube-openapi/pkg/util/proto"

	"github.com/capstan-dev/capstan/generator/internal/model"
)

func emitted(t *testing.T, emit func(*model.Model) ([]File, error)) map[string][]byte {
	t.Helper()
	files, err := emit(testModel())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		if out[f.Path] != nil {
			t.Errorf("%s is emitted twice", f.Path)
		}
		out[f.Path] = f.Data
	}
	return out
}

func TestOpenAPIIsDeterministic(t *testing.T) {
	a, b := emitted(t, OpenAPI), emitted(t, OpenAPI)
	for path := range a {
		if !bytes.Equal(a[path], b[path]) {
			t.Errorf("%s differs between two runs", path)
		}
	}
}

// TestOpenAPIV3IsValid reads every document with a library that checks all
// references and rules of OpenAPI 3.
func TestOpenAPIV3IsValid(t *testing.T) {
	n := 0
	for path, data := range emitted(t, OpenAPI) {
		if !strings.HasPrefix(path, "openapi/v3/") {
			continue
		}
		n++
		doc, err := openapi3.NewLoader().LoadFromData(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation(), openapi3.DisableSchemaPatternValidation(), openapi3.DisableSchemaDefaultsValidation()); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
	if n != 6 {
		t.Errorf("%d documents, want api, apis, version, the group and two group versions", n)
	}
}

// TestOpenAPIV2IsRead reads the binary form the way kubectl explain and apply do.
func TestOpenAPIV2IsRead(t *testing.T) {
	doc := &openapi_v2.Document{}
	if err := proto.Unmarshal(emitted(t, OpenAPI)["openapi/v2.pb"], doc); err != nil {
		t.Fatal(err)
	}
	models, err := kubeproto.NewOpenAPIData(doc)
	if err != nil {
		t.Fatal(err)
	}
	spec, ok := models.LookupModel("io.k8s.api.core.v1.PodSpec").(*kubeproto.Kind)
	if !ok {
		t.Fatal("PodSpec is not an object")
	}
	containers := spec.Fields["containers"]
	if containers.GetExtensions()["x-kubernetes-patch-merge-key"] != "name" || containers.GetExtensions()["x-kubernetes-patch-strategy"] != "merge" {
		t.Errorf("containers: %v", containers.GetExtensions())
	}
	if _, ok := spec.Fields["overhead"].(*kubeproto.Map); !ok {
		t.Errorf("overhead is %T, want a map", spec.Fields["overhead"])
	}
	pod := models.LookupModel("io.k8s.api.core.v1.Pod")
	if pod.GetExtensions()["x-kubernetes-group-version-kind"] == nil {
		t.Error("Pod has no kind")
	}
}

func TestOpenAPIContent(t *testing.T) {
	files := emitted(t, OpenAPI)
	for _, c := range []struct{ file, path, want string }{
		{"v3/api__v1.json", "openapi", `"3.0.0"`},
		{"v3/api__v1.json", "info/title", `"Kubernetes"`},
		{"v3/api__v1.json", "paths/|api|v1|pods/get/operationId", `"listCoreV1PodForAllNamespaces"`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods/get/operationId", `"listCoreV1NamespacedPod"`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods/post/operationId", `"createCoreV1NamespacedPod"`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods/delete/operationId", `"deleteCoreV1CollectionNamespacedPod"`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods/delete/x-kubernetes-action", `"deletecollection"`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}/put/operationId", `"replaceCoreV1NamespacedPod"`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}/patch/x-kubernetes-group-version-kind", `{"group":"","kind":"Pod","version":"v1"}`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}/delete/responses/200/content/application|json/schema", `{"$ref":"#/components/schemas/io.k8s.api.core.v1.Pod"}`},
		{"v3/api__v1.json", "paths/|api|v1|nodes|{name}/delete/responses/200/content/application|json/schema", `{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.Status"}`},
		{"v3/api__v1.json", "paths/|api|v1|nodes/get/tags", `["core_v1"]`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}|status/patch/operationId", `"patchCoreV1NamespacedPodStatus"`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}|binding/post/operationId", `"createCoreV1NamespacedPodBinding"`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}|binding/get", `null`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}|token/post/x-kubernetes-group-version-kind", `{"group":"authentication.k8s.io","kind":"TokenRequest","version":"v1"}`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}|log/get/parameters", `[{"description":"Lines.","in":"query","name":"tailLines","schema":{"type":"integer","uniqueItems":true}}]`},
		{"v3/api__v1.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}|proxy|{path}/head/operationId", `"connectCoreV1HeadNamespacedPodProxyWithPath"`},
		{"v3/api__v1.json", "paths/|api|v1|watch|namespaces|{namespace}|pods|{name}/get/operationId", `"watchCoreV1NamespacedPod"`},
		{"v3/api__v1.json", "paths/|api|v1|watch|pods/get/x-kubernetes-action", `"watchlist"`},
		{"v3/api__v1.json", "components/schemas/io.k8s.api.core.v1.PodList/properties/items", `{"description":"The objects of the list.","items":{"$ref":"#/components/schemas/io.k8s.api.core.v1.Pod"},"type":"array"}`},
		{"v3/api__v1.json", "components/schemas/io.k8s.api.core.v1.Pod/properties/spec", `{"allOf":[{"$ref":"#/components/schemas/io.k8s.api.core.v1.PodSpec"}],"default":{},"description":"Wanted state."}`},
		{"v3/api__v1.json", "components/schemas/io.k8s.api.core.v1.ContainerPort/properties/containerPort", `{"description":"Number.","exclusiveMaximum":true,"exclusiveMinimum":true,"format":"int32","maximum":65536,"minimum":0,"type":"integer"}`},
		{"v3/api__v1.json", "components/schemas/io.k8s.api.core.v1.ContainerPort/properties/protocol", `{"default":"TCP","description":"Protocol.","enum":["SCTP","TCP","UDP"],"type":"string"}`},
		{"v3/api__v1.json", "components/schemas/io.k8s.api.core.v1.Container/properties/ports/x-kubernetes-list-map-keys", `["containerPort","protocol"]`},
		{"v3/api__v1.json", "components/schemas/io.k8s.api.apps.v1.Deployment", `null`},
		{"v3/api__v1.json", "components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta/properties/fieldsV1", `{"allOf":[{"$ref":"#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1"}],"description":"Owned fields."}`},
		{"v3/api__v1.json", "components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions/x-kubernetes-group-version-kind", `[{"group":"apps","kind":"DeleteOptions","version":"v1"},{"group":"","kind":"DeleteOptions","version":"v1"}]`},
		{"v3/api__v1.json", "components/securitySchemes/BearerToken/type", `"apiKey"`},
		{"v3/apis__apps__v1.json", "components/schemas/io.k8s.apimachinery.pkg.util.intstr.IntOrString/oneOf", `[{"type":"integer"},{"type":"string"}]`},
		{"v3/apis__apps__v1.json", "paths/|apis|apps|v1|namespaces|{namespace}|deployments|{name}/get/operationId", `"readAppsV1NamespacedDeployment"`},
		{"v3/apis.json", "paths/|apis|/get/operationId", `"getAPIVersions"`},
		{"v2.json", "swagger", `"2.0"`},
		{"v2.json", "definitions/io.k8s.api.core.v1.PodSpec/properties/containers/x-kubernetes-patch-merge-key", `"name"`},
		{"v2.json", "definitions/io.k8s.api.core.v1.Container/required", `["name"]`},
		{"v2.json", "definitions/io.k8s.api.core.v1.Pod/properties/spec", `{"$ref":"#/definitions/io.k8s.api.core.v1.PodSpec","description":"Wanted state."}`},
		{"v2.json", "definitions/io.k8s.api.apps.v1.Deployment/x-kubernetes-group-version-kind", `[{"group":"apps","kind":"Deployment","version":"v1"}]`},
		{"v2.json", "definitions/io.k8s.apimachinery.pkg.api.resource.Quantity/type", `"string"`},
		{"v2.json", "paths/|api|v1|namespaces|{namespace}|pods|{name}/patch/consumes", `["application/json-patch+json","application/merge-patch+json","application/strategic-merge-patch+json","application/apply-patch+yaml"]`},
		{"v2.json", "paths/|apis|apps|/get/operationId", `"getAppsAPIGroup"`},
	} {
		t.Run(c.file+" "+c.path, func(t *testing.T) {
			var v any
			if err := json.Unmarshal(files["openapi/"+c.file], &v); err != nil {
				t.Fatal(err)
			}
			for _, step := range strings.Split(c.path, "/") {
				m, _ := v.(map[string]any)
				v = m[strings.ReplaceAll(step, "|", "/")]
			}
			got, err := compact(v)
			if err != nil || string(got) != c.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
}

func TestOpenAPISaysWhereAReferenceIsWrong(t *testing.T) {
	m := testModel()
	pod := m.GroupVersions[2].Types[3]
	pod.Schema.Properties[1].Schema.Ref = "#/$defs/PodSpek"
	pod.Schema.Properties[1].Schema.Pos.File, pod.Schema.Properties[1].Schema.Pos.Line = "schemas/core/v1/Pod.yaml", 7
	_, err := OpenAPI(m)
	want := `schemas/core/v1/Pod.yaml:7: $ref "#/$defs/PodSpek" points at no type: declare PodSpek in schemas/core/v1`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}
