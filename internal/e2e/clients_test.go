package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// The clients that `make test-clients` installs, and where.
var (
	oldKubectl = os.Getenv("CAPSTAN_OLD_KUBECTL") // kubectl 1.20
	nodeFolder = os.Getenv("CAPSTAN_NODE_CLIENT") // has node_modules/@kubernetes/client-node
)

// TestOldKubectl runs the scripts of testdata/kubectl-1.20 with that kubectl. In addition
// to the commands of TestKubectl a script has:
//
//	finish NAME     reports in its status that a deployment is rolled out
func TestOldKubectl(t *testing.T) {
	if oldKubectl == "" {
		t.Skip("make test-clients runs this")
	}
	recent := binaries.kubectl
	binaries.kubectl = oldKubectl
	t.Cleanup(func() { binaries.kubectl = recent })
	testscript.Run(t, testscript.Params{
		Dir:   filepath.Join("testdata", "kubectl-1.20"),
		Setup: setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"kubectl": kubectl, "background": background, "until": until, "finish": finish,
		},
	})
}

// finish does the work of the deployment controller.
func finish(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: finish NAME")
	}
	config, err := clientcmd.BuildConfigFromFlags("", ts.Getenv("KUBECONFIG"))
	ts.Check(err)
	client, err := kubernetes.NewForConfig(config)
	ts.Check(err)
	deployments := client.AppsV1().Deployments("default")
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	d, err := deployments.Get(ctx, args[0], metav1.GetOptions{})
	ts.Check(err)
	n := *d.Spec.Replicas
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	_, err = deployments.UpdateStatus(ctx, d, metav1.UpdateOptions{})
	ts.Check(err)
}

// TestNodeClient runs the JavaScript client.
func TestNodeClient(t *testing.T) {
	t.Parallel()
	if nodeFolder == "" {
		t.Skip("make test-clients runs this")
	}
	script, err := os.ReadFile(filepath.Join("testdata", "node", "smoke.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	// Imports are resolved next to the script.
	path := filepath.Join(nodeFolder, "smoke.mjs")
	if err := os.WriteFile(path, script, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(testContext(t), "node", path)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+serve(t, "").kubeconfig)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "all well") {
		t.Errorf("%v\n%s", err, out)
	}
}
