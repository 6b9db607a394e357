// Package chart tests the Helm chart with Helm's own code. It is a module of its own, since Helm requires versions of
// libraries that the server does not have.
package chart

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
)

var folder = filepath.Join("..", "..", "packaging", "chart")

// modes are values for each way to use the chart.
var modes = map[string]map[string]any{
	"defaults": {},
	"volume": {"volume": map[string]any{"size": "1Gi", "storageClassName": "fast"}, "tlsSecret": "serving", "extraArgs": []any{"--audit-log-path=-"},
		"service": map[string]any{"type": "LoadBalancer", "port": 443, "annotations": map[string]any{"a": "b"}}, "podAnnotations": map[string]any{"a": "b"},
		"podLabels": map[string]any{"a": "b"}, "nodeSelector": map[string]any{"a": "b"}, "priorityClassName": "system-cluster-critical",
		"imagePullSecrets": []any{map[string]any{"name": "pull"}}, "tolerations": []any{map[string]any{"key": "a", "operator": "Exists"}},
		"extraEnv": []any{map[string]any{"name": "A", "value": "b"}}, "extraVolumes": []any{map[string]any{"name": "a", "emptyDir": map[string]any{}}},
		"extraVolumeMounts": []any{map[string]any{"name": "a", "mountPath": "/a"}}},
	"etcd": {"mode": "etcd", "pkiSecret": "pki", "etcd": map[string]any{"endpoints": []any{"https://etcd-0:2379", "https://etcd-1:2379"}, "tlsSecret": "etcd"}},
}

// render makes the chart's objects, as helm template does.
func render(values map[string]any) (map[string]string, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: "test", Namespace: "default", IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// TestLint: helm lint --strict has nothing to say.
func TestLint(t *testing.T) {
	for name, values := range modes {
		for _, m := range lint.All(folder, values, "default", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}

// TestWrongValues: the schema refuses values with which no server would run.
func TestWrongValues(t *testing.T) {
	for name, values := range map[string]map[string]any{
		"etcd":        {"mode": "etcd", "pkiSecret": "pki"},
		"pkiSecret":   {"pkiSecret": ""},
		"mode":        {"mode": "disk"},
		"replicaz":    {"replicaz": 2},
		"extraArgs.0": {"extraArgs": []any{"audit-log-path=-"}},
	} {
		if _, err := render(values); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "/", "."), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestApply: a running server takes the objects of the chart, and knows each of their fields. It also accepts the
// flags that the chart gives to a server.
func TestApply(t *testing.T) {
	binaries := os.Getenv("CAPSTAN_BINARIES")
	if binaries == "" {
		t.Skip("make test-packages runs this")
	}
	capstan, err := filepath.Abs(filepath.Join(binaries, "capstan-linux-amd64"))
	if err != nil {
		t.Fatal(err)
	}
	apply := applier(t, capstan)
	for _, name := range slices.Sorted(maps.Keys(modes)) {
		files, err := render(modes[name])
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kinds := map[string]int{}
		for file, text := range files {
			if strings.HasSuffix(file, ".txt") {
				continue // notes for people
			}
			for _, o := range objects(t, text) {
				if err := apply(o); err != nil {
					t.Errorf("%s: %s: %v\n%s", name, file, err, text)
				}
				kinds[o.GetKind()]++
				if o.GetKind() == "StatefulSet" {
					checkFlags(t, capstan, o)
				}
			}
		}
		if want := map[bool]int{true: 1}[name == "etcd"]; kinds["StatefulSet"] != 1 || kinds["Service"] != 2 || kinds["PodDisruptionBudget"] != want {
			t.Errorf("%s has %v", name, kinds)
		}
	}
}

// objects are those of a rendered file.
func objects(t *testing.T, text string) (all []*unstructured.Unstructured) {
	t.Helper()
	for d := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		if err := d.Decode(&o.Object); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if o.GetKind() != "" {
			all = append(all, o)
		}
	}
}

// applier starts a server and returns what applies an object there: no unknown field, no warning.
func applier(t *testing.T, capstan string) func(*unstructured.Unstructured) error {
	t.Helper()
	kubeconfig := serve(t, capstan)
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	groups, err := restmapper.GetAPIGroupResources(discovery.NewDiscoveryClientForConfigOrDie(config))
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	return func(o *unstructured.Unstructured) error {
		kind := o.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		of := client.Resource(mapping.Resource).Namespace("default")
		// Each mode is applied anew: some fields of a StatefulSet cannot change.
		made, err := of.Create(ctx, o, metav1.CreateOptions{FieldManager: "helm", FieldValidation: metav1.FieldValidationStrict, DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if made.GetName() == "" {
			return fmt.Errorf("the server answers %v", made)
		}
		return nil
	}
}

// serve runs a server until the end of the test, and returns its kubeconfig.
func serve(t *testing.T, capstan string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(capstan, "serve", "--data-dir", dir, "--secure-port=0")
	var log bytes.Buffer
	cmd.Stderr = &log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server ends badly: %v\n%s", err, log.String())
		}
	})
	// The second line follows the first one, when the server listens.
	said := make([]byte, 0, 4096)
	for part := make([]byte, 1024); !bytes.Contains(said, []byte("export KUBECONFIG=")); {
		n, err := stdout.Read(part)
		if err != nil {
			t.Fatalf("the server does not start: %v\n%s", err, log.String())
		}
		said = append(said, part[:n]...)
	}
	return filepath.Join(dir, "admin.kubeconfig")
}

// checkFlags has a server parse the flags of the chart: it gets as far as the files that they name.
func checkFlags(t *testing.T, capstan string, set *unstructured.Unstructured) {
	t.Helper()
	containers, _, _ := unstructured.NestedSlice(set.Object, "spec", "template", "spec", "containers")
	args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	if len(args) < 5 || args[0] != "serve" {
		t.Fatalf("the container has the arguments %q", args)
	}
	out, err := exec.Command(capstan, append(args, "--help")...).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("unknown flag")) {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
}
