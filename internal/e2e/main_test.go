// Package e2e drives the real capstan binary with the clients that people use:
// kubectl and client-go, unmodified. CAPSTAN and KUBECTL in the environment name
// binaries to test instead of the ones that the tests build.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

// binaries holds the absolute paths of the tested programs.
var binaries struct{ capstan, kubectl string }

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv(asIssuer) != "" {
		return runIssuer()
	}
	dir, err := os.MkdirTemp("", "capstan-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	for _, build := range []struct {
		given, from, pkg, flags string
		to                      *string
	}{
		{os.Getenv("CAPSTAN"), filepath.Join("..", ".."), "./server/cmd/capstan", "", &binaries.capstan},
		// kubectl derives the version skew from the version that it was linked with.
		{os.Getenv("KUBECTL"), ".", "./kubectl", "-X k8s.io/component-base/version.gitVersion=v1.34.2", &binaries.kubectl},
	} {
		if *build.to = build.given; build.given != "" {
			continue
		}
		*build.to = filepath.Join(dir, filepath.Base(build.pkg))
		cmd := exec.Command("go", "build", "-ldflags", build.flags, "-o", *build.to, build.pkg)
		cmd.Dir = build.from
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building %s: %v\n%s", build.pkg, err, out)
			return 1
		}
	}
	// Libraries log the disruptions that tests cause.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	return m.Run()
}
