package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Bounds of programs without symbols, as they are released, in bytes.
const (
	mostOfEverything = 40_000_000
	mostOfOwnGroups  = 25_000_000
)

// TestOwnGroupsOnly makes a module whose program has its own groups only, and works with it
// by kubectl.
func TestOwnGroupsOnly(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds two servers")
	}
	small := func(file string, most int64) {
		t.Helper()
		if info, err := os.Stat(file); err != nil || info.Size() > most {
			t.Errorf("%v: the program has %d bytes, at most %d are wanted: 'go tool nm -size -sort size' of one with symbols says what they are", err, info.Size(), most)
		}
	}
	if os.Getenv("CAPSTAN") == "" {
		small(binaries.capstan, mostOfEverything)
	}
	dir := newAPI(t, "--builtin=false")
	runIn(t, dir, "go", "test", "-vet=off", "./...")
	runIn(t, dir, "go", "build", "-ldflags", noSymbols, "-o", "server", ".")
	small(filepath.Join(dir, "server"), mostOfOwnGroups)

	server := serveBinary(t, filepath.Join(dir, "server"), t.TempDir())
	kubectl := func(args ...string) string {
		t.Helper()
		return runIn(t, dir, binaries.kubectl, append([]string{"--kubeconfig", server.kubeconfig, "--cache-dir", filepath.Join(dir, "cache")}, args...)...)
	}
	example, err := os.ReadFile(filepath.Join(dir, "examples", "truck.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := strings.Replace(string(example), "namespace: default", "namespace: depot", 1)
	if err := os.WriteFile(filepath.Join(dir, "depot.yaml"), []byte(elsewhere), 0o644); err != nil {
		t.Fatal(err)
	}
	kubectl("create", "namespace", "depot")
	kubectl("apply", "-f", "examples")
	kubectl("apply", "-f", "depot.yaml")
	kubectl("apply", "--server-side", "--force-conflicts", "-f", "depot.yaml")
	for _, c := range []struct{ args, want string }{
		{"get trucks -A", "depot"},
		{"get namespaces", "kube-system"},
		{"explain truck.spec", "FIELD: spec"},
		{"auth can-i create trucks --as anna --as-group system:masters", "yes"},
		{"api-resources -o name", "rolebindings.rbac.authorization.k8s.io"},
		{"get --raw /readyz", "ok"},
		{"get --raw /openapi/v2", "com.example.fleet.v1beta1.Truck"},
	} {
		if text := kubectl(strings.Fields(c.args)...); !strings.Contains(text, c.want) {
			t.Errorf("kubectl %s: %s", c.args, text)
		}
	}
	kubectl("create", "rolebinding", "drivers", "-n", "depot", "--clusterrole=view", "--user=anna")
	kubectl("delete", "namespace", "depot", "--timeout", devLimit.Round(time.Second).String())
	if text := kubectl("get", "trucks", "-A"); strings.Contains(text, "depot") {
		t.Errorf("the trucks of a deleted namespace are left: %s", text)
	}
}
