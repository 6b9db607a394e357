package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/client"
	appsv1 "github.com/capstan-dev/capstan/gen/apps/v1"
	autoscalingv1 "github.com/capstan-dev/capstan/gen/autoscaling/v1"
	typed "github.com/capstan-dev/capstan/gen/client"
	corev1 "github.com/capstan-dev/capstan/gen/core/v1"
	metav1 "github.com/capstan-dev/capstan/gen/meta/v1"
)

// TestTypedClient sends typed objects and reads typed answers.
func TestTypedClient(t *testing.T) {
	var line, sent string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		line, sent = r.Method+" "+r.RequestURI, string(data)
		io.WriteString(w, `{"metadata":{"name":"a","creationTimestamp":"2022-01-02T03:04:05Z"},"spec":{"replicas":2},"items":[{"metadata":{"name":"b"}}]}`)
	}))
	defer s.Close()
	c, err := typed.New(client.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	check := func(wantLine, wantSent string, err error) {
		t.Helper()
		if err != nil || line != wantLine || sent != wantSent {
			t.Errorf("sent %s %s, %v\nwant %s %s", line, sent, err, wantLine, wantSent)
		}
	}

	replicas := int32(3)
	d := &appsv1.Deployment{Metadata: metav1.ObjectMeta{Name: "a"}}
	_, err = c.AppsV1().Deployments("ns").Update(ctx, d, client.WriteOptions{})
	if line != "PUT /apis/apps/v1/namespaces/ns/deployments/a" {
		t.Errorf("update: %s, %v", line, err)
	}
	scale := &autoscalingv1.Scale{Metadata: metav1.ObjectMeta{Name: "a"}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	got, err := c.AppsV1().DeploymentScale("ns").Update(ctx, "a", scale, client.WriteOptions{})
	check("PUT /apis/apps/v1/namespaces/ns/deployments/a/scale",
		`{"kind":"Scale","apiVersion":"autoscaling/v1","metadata":{"name":"a"},"spec":{"replicas":3},"status":{"replicas":0}}`, err)
	if got.Spec.Replicas != 2 || got.Metadata.CreationTimestamp.Year() != 2022 {
		t.Errorf("scale: %+v", got)
	}
	pods, err := c.CoreV1().Pods("").List(ctx, client.ListOptions{Limit: 1})
	check("GET /api/v1/pods?limit=1", "", err)
	if len(pods.Items) != 1 || pods.Items[0].Metadata.Name != "b" {
		t.Errorf("list: %+v", pods)
	}
	_, err = c.CoreV1().Nodes().Get(ctx, "a", client.GetOptions{})
	check("GET /api/v1/nodes/a", "", err)
	_, err = c.CoreV1().ConfigMaps("ns").Create(ctx, &corev1.ConfigMap{Metadata: metav1.ObjectMeta{Name: "c"}, Data: map[string]string{"k": "v"}}, client.WriteOptions{})
	check("POST /api/v1/namespaces/ns/configmaps",
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"},"data":{"k":"v"}}`, err)
}

// TestTypesHoldExamples reads the examples of the schemas into the Go types, where every
// field must be known, and writes them without losing a value.
func TestTypesHoldExamples(t *testing.T) {
	examples, err := filepath.Glob("../schemas/examples/valid/*/*/*.yaml")
	if err != nil || len(examples) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	const generated = "github.com/capstan-dev/capstan/gen/"
	kinds := map[string]any{} // by directory and name
	for _, v := range []any{
		&appsv1.ControllerRevision{}, &appsv1.DaemonSet{}, &appsv1.Deployment{}, &appsv1.ReplicaSet{}, &appsv1.StatefulSet{},
		&corev1.Binding{}, &corev1.ConfigMap{}, &corev1.Endpoints{}, &corev1.Event{}, &corev1.LimitRange{}, &corev1.Namespace{},
		&corev1.Node{}, &corev1.PersistentVolume{}, &corev1.PersistentVolumeClaim{}, &corev1.Pod{}, &corev1.PodTemplate{},
		&corev1.ReplicationController{}, &corev1.ResourceQuota{}, &corev1.Secret{}, &corev1.Service{}, &corev1.ServiceAccount{},
	} {
		typ := reflect.TypeOf(v).Elem()
		kinds[strings.TrimPrefix(typ.PkgPath(), generated)+"/"+typ.Name()] = v
	}
	seen := map[string]bool{}
	for _, name := range examples {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := yaml.YAMLToJSON(source)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var want map[string]any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kind, _ := want["kind"].(string)
		group, err := filepath.Rel("../schemas/examples/valid", filepath.Dir(name))
		if err != nil {
			t.Fatal(err)
		}
		key := filepath.ToSlash(group) + "/" + kind
		if kinds[key] == nil {
			continue
		}
		seen[key] = true
		object := reflect.New(reflect.TypeOf(kinds[key]).Elem()).Interface()
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(object); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		again, err := json.Marshal(object)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got map[string]any
		if err := json.Unmarshal(again, &got); err != nil {
			t.Fatal(err)
		}
		if lost := missing(want, got, kind); lost != "" {
			t.Errorf("%s: %s is lost in %s", name, lost, again)
		}
	}
	for kind := range kinds {
		if !seen[kind] {
			t.Errorf("no example of %s", kind)
		}
	}
}

// missing returns the path of a value of want that got does not have, or "".
// A quantity may become text, and a zero value may become absent.
func missing(want, got any, path string) string {
	switch w := want.(type) {
	case map[string]any:
		g, _ := got.(map[string]any)
		for name, v := range w {
			if lost := missing(v, g[name], path+"."+name); lost != "" {
				return lost
			}
		}
		return ""
	case []any:
		g, _ := got.([]any)
		if len(g) != len(w) {
			return path
		}
		for i := range w {
			if lost := missing(w[i], g[i], path+"[]"); lost != "" {
				return lost
			}
		}
		return ""
	case float64:
		if _, text := got.(string); text {
			data, _ := json.Marshal(w)
			want = string(data)
		}
	}
	if !reflect.DeepEqual(want, got) && !(got == nil && (want == nil || reflect.ValueOf(want).IsZero())) {
		return path
	}
	return ""
}
