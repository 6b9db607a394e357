package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// published are Go modules that hold custom resource definitions, and objects of them as
// samples or for tests.
var published = []struct {
	module, sum string
	definitions int    // that it has at least
	samples     int    // that are accepted, at least
	invalid     string // a folder of samples that are wrong
}{
	{"sigs.k8s.io/gateway-api@v1.2.1", "h1:fZZ/+RyRb+Y5tGkwxFKuYuSRQHu9dZtbjenblleOLHM=", 10, 154, "hack/invalid-examples/standard"},
	{"github.com/cert-manager/cert-manager@v1.11.5", "h1:K2LurvwIE4hIhODQZnkOW6ljYe3lVMAliS/to+gI05o=", 6, 0, ""},
	{"github.com/prometheus-operator/prometheus-operator@v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=", 10, 15, ""},
	{"sigs.k8s.io/kueue@v0.9.1", "h1:4y8YCoWyZj/C1rOWLvjn9T3Hmjfe+YD7Syhii1B92Fo=", 11, 2, ""},
	{"github.com/external-secrets/external-secrets@v1.3.2", "h1:u2J8RjlHIeF0oZCqtl92adI/uZWUwOesJIDkfql6LqQ=", 20, 90, ""},
	{"github.com/argoproj/argo-cd/v2@v2.13.9", "h1:Mzs4FA1EeFhI/xoTFqSA80JP9/IwI+B4I1Kr0pTcLlA=", 3, 10, ""},
	{"sigs.k8s.io/cluster-api@v1.9.4", "h1:pa2Ho50F9Js/Vv/Jy11TcpmGiqY2ukXCoDj/dY25Y7M=", 15, 9, ""},
	{"github.com/crossplane/crossplane@v1.18.1", "h1:u5L9qCYNpw00XGL0+k1mp4Qs8rjWz3OJnjVIMEgtJGI=", 15, 60, ""},
	{"github.com/kedacore/keda/v2@v2.15.1", "h1:Kb3woYuCeCPICH037vTIcUopXgOYpdP2qa+CmHgV3SE=", 5, 4, ""},
	{"knative.dev/serving@v0.42.2", "h1:yKieg3MeNvpVz+4JJPbvmpee3v3LK3zO5h5HJBtzaNk=", 10, 35, ""},
	{"istio.io/api@v1.24.2", "h1:jYjcN6Iq0RPtQj/3KMFsybxmfqmjGN/dxhL7FGJEdIM=", 10, 0, ""},
}

var definitionResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Definitions that others publish are accepted as their authors ship them, served,
// explained and applied, and so are their samples. They become documents, and come out of
// these again. The modules come from the module
// cache or the module proxy; nothing of them is copied.
func TestPublishedDefinitions(t *testing.T) {
	t.Parallel()
	gen := capstanGen(t)
	for _, p := range published {
		t.Run(strings.NewReplacer("/", "_", "@", "_").Replace(p.module), func(t *testing.T) {
			t.Parallel()
			m := &publisher{T: t, dir: download(t, p.module, p.sum), server: serve(t, "", "--controllers=-*"), kinds: map[schema.GroupVersionKind]*unstructured.Unstructured{}, editors: map[schema.GroupVersionKind]*jsonschema.Schema{}}
			var err error
			if m.client, err = dynamic.NewForConfig(m.server.config(t)); err != nil {
				t.Fatal(err)
			}
			m.read(p.invalid)
			if len(m.definitions) < p.definitions {
				t.Fatalf("the module has %d definitions, known are %d", len(m.definitions), p.definitions)
			}
			m.importAll(gen, strings.Split(p.module, "/")[0])
			m.define(t.Context())
			accepted := 0
			for _, s := range m.samples {
				m.compareEditor(t.Context(), s)
				if m.try(t.Context(), s) {
					accepted++
				}
			}
			m.explain()
			if accepted < p.samples {
				t.Errorf("%d of %d samples are accepted, known are %d", accepted, len(m.samples), p.samples)
			}
			t.Logf("the exported schemas agree with the server about %d of %d samples", m.agreed, len(m.samples))
			for _, s := range m.wrong {
				if err := m.create(t.Context(), s, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
					t.Errorf("%s is not refused: %v", s.file, err)
				}
			}
			t.Logf("%d definitions, %d of %d samples accepted, %d wrong ones", len(m.definitions), accepted, len(m.samples), len(m.wrong))
		})
	}
}

// download is the folder of a module, in the module cache.
func download(t *testing.T, module, sum string) string {
	t.Helper()
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = t.TempDir()                         // no module: its go.mod has nothing to do with this
	cmd.Env = append(os.Environ(), "GOSUMDB=off") // the sum is here
	out, err := cmd.Output()
	var got struct{ Dir, Sum, Error string }
	if wrong := json.Unmarshal(out, &got); err != nil || wrong != nil || got.Sum != sum {
		t.Fatalf("%s: %v, %v, %s, sum %s, want %s", module, err, wrong, got.Error, got.Sum, sum)
	}
	return got.Dir
}

// publisher is one module, and a server for it.
type publisher struct {
	*testing.T
	dir            string
	server         *instance
	client         dynamic.Interface
	definitions    []*unstructured.Unstructured
	kinds          map[schema.GroupVersionKind]*unstructured.Unstructured
	samples, wrong []sample
	editors        map[schema.GroupVersionKind]*jsonschema.Schema // exported from the documents
	agreed         int
}

type sample struct {
	file string
	*unstructured.Unstructured
}

// read collects the definitions, and all objects of their kinds.
func (m *publisher) read(invalid string) {
	m.Helper()
	var others []sample
	err := filepath.WalkDir(m.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(m.dir, path)
		for _, object := range objectsIn(text) {
			if object.GetKind() == "CustomResourceDefinition" && object.GetAPIVersion() == "apiextensions.k8s.io/v1" {
				m.add(object)
			} else {
				others = append(others, sample{file, object})
			}
		}
		return err
	})
	if err != nil {
		m.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range others {
		key := fmt.Sprint(s.GroupVersionKind(), s.GetNamespace(), s.GetName())
		switch {
		case m.kinds[s.GroupVersionKind()] == nil || s.GetName() == "":
		case invalid != "" && strings.HasPrefix(s.file, invalid):
			m.wrong = append(m.wrong, s)
		case !seen[key] && !strings.Contains(s.file, "invalid"):
			seen[key] = true
			m.samples = append(m.samples, s)
		}
	}
}

// templates are lines of charts that are not YAML before they are filled in.
var templates = regexp.MustCompile(`(?m)^.*\{\{.*\n`)

// objectsIn are the objects in a file. What cannot be read is left out: it may be a template.
func objectsIn(text []byte) (all []*unstructured.Unstructured) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(templates.ReplaceAll(text, nil))))
	for {
		one, err := reader.Read()
		if errors.Is(err, io.EOF) || err != nil {
			return all
		}
		body, err := yaml.ToJSON(one)
		if err != nil {
			continue
		}
		object := &unstructured.Unstructured{}
		if json.Unmarshal(body, &object.Object) == nil && object.GetKind() != "" && object.GetAPIVersion() != "" {
			all = append(all, object)
		}
	}
}

// add adds a definition that is a whole one, and not another edition of a known one.
func (m *publisher) add(definition *unstructured.Unstructured) {
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
	if len(versions) == 0 || group == "" || slices.ContainsFunc(m.definitions, func(d *unstructured.Unstructured) bool { return d.GetName() == definition.GetName() }) {
		return
	}
	delete(definition.Object, "status")
	// Most convert by a webhook of their operator, which does not run here.
	if strategy, _, _ := unstructured.NestedString(definition.Object, "spec", "conversion", "strategy"); strategy == "Webhook" {
		unstructured.RemoveNestedField(definition.Object, "spec", "conversion")
	}
	m.definitions = append(m.definitions, definition)
	for _, v := range versions {
		if v, ok := v.(map[string]any); ok && v["served"] == true {
			m.kinds[schema.GroupVersionKind{Group: group, Version: fmt.Sprint(v["name"]), Kind: kind}] = definition
		}
	}
}

// define creates and applies the definitions, and waits until they are established.
func (m *publisher) define(ctx context.Context) {
	m.Helper()
	client := m.client.Resource(definitionResource)
	for _, d := range m.definitions {
		if _, err := client.Create(ctx, d, metav1.CreateOptions{FieldManager: "author"}); err != nil {
			m.Fatalf("%s: %v", d.GetName(), err)
		}
	}
	wait := []string{"wait", "--for=condition=Established", "--timeout=2m"}
	for _, d := range m.definitions {
		wait = append(wait, "crd/"+d.GetName())
	}
	m.kubectl(wait...)
	for _, d := range m.definitions {
		var revisions []string
		for range 2 {
			applied, err := client.Apply(ctx, d.GetName(), d, metav1.ApplyOptions{FieldManager: "applier", Force: true})
			if err != nil {
				m.Fatalf("%s: %v", d.GetName(), err)
			}
			revisions = append(revisions, applied.GetResourceVersion())
		}
		if revisions[0] != revisions[1] {
			m.Errorf("%s is another after the same apply", d.GetName())
		}
	}
}

// explain asks kubectl about some of the kinds, and lists the objects of all as tables.
func (m *publisher) explain() {
	m.Helper()
	var names []string
	for i, d := range m.definitions {
		names = append(names, d.GetName())
		if i%8 != 0 {
			continue
		}
		kind, _, _ := unstructured.NestedString(d.Object, "spec", "names", "kind")
		if out := m.kubectl("explain", "--recursive", d.GetName()); !strings.Contains(out, "KIND:       "+kind+"\n") {
			m.Errorf("explain %s: %.300s", d.GetName(), out)
		}
	}
	m.kubectl("get", "--all-namespaces", strings.Join(names, ","))
}

func (m *publisher) kubectl(args ...string) string {
	m.Helper()
	cmd := exec.Command(binaries.kubectl, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+m.server.kubeconfig, "HOME="+m.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.Errorf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// resource is the collection of a sample.
func (m *publisher) resource(s sample) dynamic.ResourceInterface {
	d, kind := m.kinds[s.GroupVersionKind()], s.GroupVersionKind()
	plural, _, _ := unstructured.NestedString(d.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(d.Object, "spec", "scope")
	all := m.client.Resource(schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: plural})
	if scope != "Namespaced" {
		return all
	}
	namespace := s.GetNamespace()
	if namespace == "" {
		namespace = "default"
	}
	return all.Namespace(namespace)
}

func (m *publisher) create(ctx context.Context, s sample, options metav1.CreateOptions) error {
	if ns := s.GetNamespace(); ns != "" && ns != "default" {
		spaces, err := kubernetes.NewForConfig(m.server.config(m.T))
		if err != nil {
			m.Fatal(err)
		}
		if _, err := spaces.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			m.Fatal(err)
		}
	}
	_, err := m.resource(s).Create(ctx, s.Unstructured, options)
	return err
}

// try sends a sample in every way, and reports whether it is accepted. Some samples are
// only parts of objects: refused ones must be refused by the rules of their schema.
func (m *publisher) try(ctx context.Context, s sample) bool {
	m.Helper()
	dry := m.create(ctx, s, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if dry != nil {
		if !apierrors.IsInvalid(dry) && !apierrors.IsBadRequest(dry) && !apierrors.IsAlreadyExists(dry) {
			m.Errorf("%s: %v", s.file, dry)
		}
		return false
	}
	if err := m.create(ctx, s, metav1.CreateOptions{FieldManager: "author"}); err != nil {
		if s.GetResourceVersion() == "" { // which a dry run accepts, as in 1.25
			m.Errorf("%s is refused after a dry run: %v", s.file, err)
		}
		return false
	}
	all := m.resource(s)
	text, err := json.Marshal(s.Object)
	if err != nil {
		m.Fatal(err)
	}
	var revisions []string
	for range 2 {
		force := true
		applied, err := all.Patch(ctx, s.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{FieldManager: "applier", Force: &force})
		if apierrors.IsBadRequest(err) {
			return true // the author has fields that the schema lacks
		}
		if apierrors.IsInvalid(err) && strings.Contains(err.Error(), `must be of type`) && strings.Contains(err.Error(), `"null"`) {
			return true // the author has null for a value, which an apply refuses as in 1.25
		}
		if err != nil {
			m.Errorf("apply of %s: %v", s.file, err)
			return true
		}
		revisions = append(revisions, applied.GetResourceVersion())
	}
	if revisions[0] != revisions[1] {
		m.Errorf("%s is another after the same apply", s.file)
	}
	m.update(ctx, s)
	return true
}

// update changes a label of a sample, and selects it.
func (m *publisher) update(ctx context.Context, s sample) {
	m.Helper()
	now, err := m.resource(s).Get(ctx, s.GetName(), metav1.GetOptions{})
	if err != nil {
		m.Fatal(err)
	}
	now.SetLabels(map[string]string{"read": "again"})
	if _, err := m.resource(s).Update(ctx, now, metav1.UpdateOptions{}); err != nil {
		m.Errorf("update of %s: %v", s.file, err)
	}
	list, err := m.resource(s).List(ctx, metav1.ListOptions{LabelSelector: "read=again"})
	if err != nil || len(list.Items) == 0 {
		m.Errorf("list of %s: %v", s.file, err)
	}
}
