package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Bounds of programs without symbols, as they are released, in bytes, and of the
// processor's time of their start on a new directory, almost three times what it is on an idle
// and slow machine.
const (
	mostOfProgram   = 43_600_000
	startOfCapstan  = 250 * time.Millisecond
	startOfOwnGroup = 240 * time.Millisecond // less, since there are fewer objects of every cluster
)

// TestOwnGroupsOnly makes a module whose program has its own groups only, and works with it
// by kubectl.
func TestOwnGroupsOnly(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds two servers")
	}
	small := func(file string, most int64, start time.Duration) {
		t.Helper()
		if took := leastStart(t, file); took > start {
			t.Errorf("%s starts in %s of the processor's time, at most %s are wanted: GODEBUG=inittrace=1 lists what packages make before main", file, took, start)
		}
		if info, err := os.Stat(file); err != nil || info.Size() > most {
			t.Errorf("%v: the program has %d bytes, at most %d are wanted: 'go tool nm -size -sort size' of one with symbols says what they are", err, info.Size(), most)
		}
	}
	if os.Getenv("CAPSTAN") == "" {
		small(binaries.capstan, mostOfProgram, startOfCapstan)
	}
	dir := newAPI(t, "--builtin=false")
	t.Run("alpha first", func(t *testing.T) {
		alpha := newAPI(t, "--builtin=false", "--version=v1alpha1")
		runIn(t, alpha, "go", "test", "-vet=off", ".")
	})
	runIn(t, dir, "go", "test", "-vet=off", "./...")
	runIn(t, dir, "go", "build", "-ldflags", noSymbols, "-o", "server", ".")
	small(filepath.Join(dir, "server"), mostOfProgram, startOfOwnGroup)

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

// leastStart is the processor's time in which a program has come up on a new directory,
// the least of some starts.
func leastStart(t *testing.T, file string) time.Duration {
	t.Helper()
	least := time.Hour
	for range 5 {
		i, err := startBinary(file, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", i.cmd.Process.Pid))
		if err != nil || len(threads) == 0 {
			t.Skip("the system does not say how long a thread has run")
		}
		var took time.Duration
		for _, thread := range threads {
			text, err := os.ReadFile(thread)
			if err != nil {
				continue // it has ended
			}
			ran, _, _ := strings.Cut(string(text), " ")
			n, err := strconv.ParseInt(ran, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			took += time.Duration(n)
		}
		least = min(least, took)
		if err := i.stop(); err != nil {
			t.Errorf("%v\n%s", err, i.log.String())
		}
	}
	t.Logf("%s starts in %s of the processor's time", filepath.Base(file), least)
	return least
}
