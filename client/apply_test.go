package client_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/client"
	appsv1 "github.com/capstan-dev/capstan/gen/apps/v1"
	typed "github.com/capstan-dev/capstan/gen/client"
	corev1 "github.com/capstan-dev/capstan/gen/core/v1"
	metav1 "github.com/capstan-dev/capstan/gen/meta/v1"
	"github.com/capstan-dev/capstan/server/servertest"
	"github.com/capstan-dev/capstan/value"
)

// TestAppliedText holds the bytes that apply and typed patches send.
func TestAppliedText(t *testing.T) {
	var sent, kind string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent, kind = r.RequestURI+" "+string(body), r.Header.Get("Content-Type")
		_, _ = io.WriteString(w, "{}")
	}))
	defer s.Close()
	c, err := typed.New(client.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx, mine := context.Background(), client.WriteOptions{FieldManager: "m"}
	zero := int32(0)
	port := value.Text("http")
	d := &appsv1.Deployment{
		Metadata: metav1.ObjectMeta{Name: "d", Labels: map[string]string{"empty": ""}, Generation: 3, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}}},
		Spec:     appsv1.DeploymentSpec{Replicas: &zero, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}},
		Status:   appsv1.DeploymentStatus{Replicas: 4},
	}
	for _, test := range []struct {
		name string
		do   func() error
		want string
	}{
		{"apply", func() error { _, err := c.AppsV1().Deployments("n").Apply(ctx, d, mine); return err },
			`/apis/apps/v1/namespaces/n/deployments/d?fieldManager=m {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"labels":{"empty":""},"name":"d"},` +
				`"spec":{"replicas":0,"template":{"spec":{"volumes":[{"emptyDir":{},"name":"v"}]}}}}`},
		{"status", func() error { _, err := c.AppsV1().Deployments("n").ApplyStatus(ctx, d, mine); return err },
			`/apis/apps/v1/namespaces/n/deployments/d/status?fieldManager=m {"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d"},"status":{"replicas":4}}`},
		{"texts, lists and times", func() error {
			_, err := c.CoreV1().Services("n").Apply(ctx, &corev1.Service{Metadata: metav1.ObjectMeta{Name: "s", Finalizers: []string{}},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80, TargetPort: port}}}}, mine)
			return err
		}, `/api/v1/namespaces/n/services/s?fieldManager=m {"apiVersion":"v1","kind":"Service","metadata":{"finalizers":[],"name":"s"},"spec":{"ports":[{"port":80,"targetPort":"http"}]}}`},
		{"merge", func() error {
			_, err := c.AppsV1().Deployments("n").Patch(ctx, "d", client.MergePatch(map[string]any{"spec": map[string]any{"replicas": nil}}), client.WriteOptions{})
			return err
		}, `/apis/apps/v1/namespaces/n/deployments/d {"spec":{"replicas":null}}`},
		{"difference", func() error {
			one, _ := client.Copy(d)
			one.Spec.Replicas, one.Metadata.Labels = nil, map[string]string{"more": "x"}
			_, err := c.AppsV1().Deployments("n").Patch(ctx, "d", client.Difference(d, one), client.WriteOptions{})
			return err
		}, `/apis/apps/v1/namespaces/n/deployments/d {"metadata":{"labels":{"empty":null,"more":"x"}},"spec":{"replicas":null}}`},
	} {
		if err := test.do(); err != nil || sent != test.want {
			t.Errorf("%s: %v\ngot  %s\nwant %s", test.name, err, sent, test.want)
		}
	}
	if kind != "application/merge-patch+json" {
		t.Errorf("content type %s", kind)
	}
	if _, err := c.AppsV1().Deployments("n").Apply(ctx, d, client.WriteOptions{}); err == nil {
		t.Error("apply without a manager")
	}
	if _, err := c.AppsV1().Deployments("n").Patch(ctx, "d", client.MergePatch(func() {}), mine); err == nil {
		t.Error("a patch of a function")
	}
}

// TestExtractIsAsApplied applies the examples with the typed client. Applying the extracted
// part again is not a write.
func TestExtractIsAsApplied(t *testing.T) {
	s := servertest.Start(t)
	c, err := typed.New(s.Config)
	if err != nil {
		t.Fatal(err)
	}
	defer c.REST().Close()
	n := applyExamples(t, "apps/v1/Deployment", c.AppsV1().Deployments("default")) +
		applyExamples(t, "apps/v1/StatefulSet", c.AppsV1().StatefulSets("default")) +
		applyExamples(t, "core/v1/Pod", c.CoreV1().Pods("default")) +
		applyExamples(t, "core/v1/Service", c.CoreV1().Services("default")) +
		applyExamples(t, "core/v1/ConfigMap", c.CoreV1().ConfigMaps("default")) +
		applyExamples(t, "core/v1/Secret", c.CoreV1().Secrets("default")) +
		applyExamples(t, "core/v1/Node", c.CoreV1().Nodes()) +
		applyExamples(t, "networking/v1/Ingress", c.NetworkingV1().Ingresses("default")) +
		applyExamples(t, "networking/v1/NetworkPolicy", c.NetworkingV1().NetworkPolicies("default"))
	if n < 10 {
		t.Errorf("only %d examples were applied", n)
	}
}

func applyExamples[P client.Object](t *testing.T, kind string, r *client.Resource[P]) (n int) {
	t.Helper()
	files, err := filepath.Glob("../schemas/examples/valid/" + kind + "-*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	mine := client.WriteOptions{FieldManager: "author"}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		var obj P
		if err := yaml.Unmarshal(text, &members); err != nil {
			t.Fatal(err)
		}
		metadata, _ := members["metadata"].(map[string]any)
		delete(metadata, "namespace")
		delete(metadata, "generateName")
		data, _ := json.Marshal(members)
		if err := json.Unmarshal(data, &obj); err != nil {
			t.Fatal(err)
		}
		if obj.GetName() == "" {
			continue
		}
		first, err := r.Apply(t.Context(), obj, mine)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		part, err := client.Extract(first, "author")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := r.Apply(t.Context(), part, mine)
		if err != nil || !reflect.DeepEqual(first, again) {
			t.Errorf("%s: %v: the extracted part is another:\n%s\n%s", name, err, asJSON(first), asJSON(again))
		}
		if none, err := client.Extract(first, "nobody"); err != nil || asJSON(none) == asJSON(part) {
			t.Errorf("%s: of nobody: %v, %s", name, err, asJSON(none))
		}
		n++
	}
	return n
}

func asJSON(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}
