package emit_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"
	kubeproto "k8s.io/kube-openapi/pkg/util/proto"

	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/load"
)

// TestProjectDocuments emits what the documents of the project say: every
// published document is valid, defaults included, and reads as kubectl reads it.
func TestProjectDocuments(t *testing.T) {
	m, err := load.Load("../../..")
	if err != nil {
		t.Fatal(err)
	}
	files, err := emit.OpenAPI(m)
	if err != nil {
		t.Fatal(err)
	}
	operations := map[string]string{}
	for _, f := range files {
		switch {
		case strings.HasPrefix(f.Path, "openapi/v3/"):
			doc, err := openapi3.NewLoader().LoadFromData(f.Data)
			if err != nil {
				t.Fatalf("%s: %v", f.Path, err)
			}
			if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation(), openapi3.DisableSchemaPatternValidation()); err != nil {
				t.Errorf("%s: %v", f.Path, err)
			}
			for path, item := range doc.Paths.Map() {
				for method, op := range item.Operations() {
					if other := operations[op.OperationID]; other != "" {
						t.Errorf("%s is the id of %s and of %s %s", op.OperationID, other, method, path)
					}
					operations[op.OperationID] = method + " " + path
				}
			}
		case f.Path == "openapi/v2.pb":
			readSwagger(t, f.Data)
		case f.Path == "openapi/v2.json" && !json.Valid(f.Data):
			t.Errorf("%s is no JSON", f.Path)
		}
	}
	for id, want := range map[string]string{
		"connectCoreV1PostNamespacedPodExec":        "POST /api/v1/namespaces/{namespace}/pods/{name}/exec",
		"connectCoreV1HeadNodeProxyWithPath":        "HEAD /api/v1/nodes/{name}/proxy/{path}",
		"createCoreV1NamespacedPodEviction":         "POST /api/v1/namespaces/{namespace}/pods/{name}/eviction",
		"createCoreV1NamespacedServiceAccountToken": "POST /api/v1/namespaces/{namespace}/serviceaccounts/{name}/token",
		"deleteCoreV1CollectionNode":                "DELETE /api/v1/nodes",
		"listCoreV1ComponentStatus":                 "GET /api/v1/componentstatuses",
		"patchAppsV1NamespacedDeploymentScale":      "PATCH /apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
		"readCoreV1NamespacedPodLog":                "GET /api/v1/namespaces/{namespace}/pods/{name}/log",
		"replaceCoreV1NamespaceFinalize":            "PUT /api/v1/namespaces/{name}/finalize",
		"watchCoreV1NamespaceList":                  "GET /api/v1/watch/namespaces",
	} {
		if operations[id] != want {
			t.Errorf("%s is %q, want %q", id, operations[id], want)
		}
	}
}

func readSwagger(t *testing.T, data []byte) {
	t.Helper()
	doc := &openapi_v2.Document{}
	if err := proto.Unmarshal(data, doc); err != nil {
		t.Fatal(err)
	}
	models, err := kubeproto.NewOpenAPIData(doc)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ model, field, extension, want string }{
		{"core.v1.PodSpec", "containers", "patch-merge-key", "name"},
		{"core.v1.PodSpec", "containers", "patch-strategy", "merge"},
		{"core.v1.PodSpec", "volumes", "patch-strategy", "merge,retainKeys"},
		{"core.v1.ServiceSpec", "ports", "patch-merge-key", "port"},
		{"apps.v1.DeploymentSpec", "strategy", "patch-strategy", "retainKeys"},
	} {
		kind, ok := models.LookupModel("io.k8s.api." + c.model).(*kubeproto.Kind)
		if !ok {
			t.Errorf("%s is not an object", c.model)
			continue
		}
		field := kind.Fields[c.field]
		if field == nil || field.GetExtensions()["x-kubernetes-"+c.extension] != c.want {
			t.Errorf("%s.%s: %s is not %s: %+v", c.model, c.field, c.extension, c.want, field)
		}
	}
	// A kubectl that validates by itself takes a default of any type.
	props, _ := models.LookupModel("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps").(*kubeproto.Kind)
	for field, model := range map[string]string{"default": "JSON", "items": "JSONSchemaPropsOrArray", "additionalProperties": "JSONSchemaPropsOrBool"} {
		ref, ok := props.Fields[field].(kubeproto.Reference)
		if !ok || !strings.HasSuffix(ref.Reference(), ".v1."+model) {
			t.Errorf("%s of a schema is %T %v, want a reference to %s", field, props.Fields[field], props.Fields[field], model)
			continue
		}
		if _, ok := ref.SubSchema().(*kubeproto.Arbitrary); !ok {
			t.Errorf("%s of a schema is a %T, want any JSON", field, ref.SubSchema())
		}
	}
}
