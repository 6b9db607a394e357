package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lossy are the definitions that documents cannot say all of; import lists what, and the
// gate sees it in the definitions that are exported again. All others are the same.
var lossy = map[string]string{
	"clusterdummies.argoproj.io":                       "any JSON with one owner",
	"nonstatussubresources.argoproj.io":                "members next to any others",
	"statussubresources.argoproj.io":                   "members next to any others",
	"providerconfigs.helm.crossplane.io":               "a column of a field that there is not",
	"bgpadvertisements.metallb.io":                     "columns of lists of objects",
	"bgppeers.metallb.io":                              "an int32 with a bound beyond it",
	"l2advertisements.metallb.io":                      "columns of lists of objects",
	"virtualservices.networking.istio.io":              "the format binary",
	"configurations.serving.knative.dev":               "any JSON with one owner",
	"knative.dev/grpcroutes.gateway.networking.k8s.io": "versions with and without a status subresource",
	"revisions.serving.knative.dev":                    "any JSON with one owner",
	"services.serving.knative.dev":                     "any JSON with one owner",
	"clusterqueues.kueue.x-k8s.io":                     "a rule with loops in loops in loops",
}

// Definitions that others publish become documents that the generator and the house rules
// accept, and these become definitions of the same meaning again.
func TestPublishedDefinitionsAreImported(t *testing.T) {
	gen := filepath.Join(t.TempDir(), "capstan-gen")
	build := exec.Command("go", "build", "-o", gen, "./generator/cmd/capstan-gen")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, p := range published {
		t.Run(strings.NewReplacer("/", "_", "@", "_").Replace(p.module), func(t *testing.T) {
			m := &publisher{T: t, dir: download(t, p.module, p.sum), kinds: map[schema.GroupVersionKind]*unstructured.Unstructured{}}
			m.read(p.invalid)
			same := 0
			for _, d := range m.definitions {
				dir := t.TempDir()
				run := func(args ...string) (string, int) {
					cmd := exec.Command(gen, args...)
					cmd.Dir = dir
					out, _ := cmd.CombinedOutput()
					return string(out), cmd.ProcessState.ExitCode()
				}
				text, err := json.MarshalIndent(d.Object, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "crd.yaml"), text, 0o600); err != nil {
					t.Fatal(err)
				}
				said, code := run("import", "crd.yaml")
				if code != 0 {
					t.Errorf("%s: import ends with %d:\n%s", d.GetName(), code, said)
					continue
				}
				for _, args := range [][]string{{"lint"}, {"export", "crd", "again"}} {
					if out, code := run(args...); code != 0 {
						t.Errorf("%s: %s ends with %d:\n%s", d.GetName(), args[0], code, out)
					}
				}
				found := ""
				for _, sides := range [][]string{{"crd.yaml", "again/definitions.yaml"}, {"again/definitions.yaml", "crd.yaml"}} {
					if out, _ := run("compat", sides[0], sides[1]); !strings.HasPrefix(out, "0 errors, 0 warnings") {
						found += out
					}
				}
				reason := lossy[d.GetName()] + lossy[strings.Split(p.module, "/")[0]+"/"+d.GetName()]
				switch notes := bytes.Count([]byte(said), []byte("\n")) - 1; {
				case found == "" && reason == "":
					same++
				case found == "":
					t.Errorf("%s has no loss: remove it from the list", d.GetName())
				case reason == "" || notes == 0:
					t.Errorf("%s is another one, with %d notes:\n%s%s", d.GetName(), notes, said, found)
				}
			}
			t.Logf("%d of %d definitions are the same after import and export", same, len(m.definitions))
		})
	}
}
