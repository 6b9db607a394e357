// Package e2e drives the real capstan binary with the clients that people use:
// kubectl and client-go, unmodified. CAPSTAN and KUBECTL in the environment name
// binaries to test instead of the ones that the tests build.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capstan-dev/capstan/internal/etcdtest"
)

// binaries holds the absolute paths of the tested programs, and the folder of those that
// the tests build.
var binaries struct{ capstan, kubectl, dir string }

// The flags are those of make, so that the builds of all tests share one cache: nobody asks
// whose the checkout is. Symbols cost a linker most of its time.
var buildEnvironment = map[string]string{"CGO_ENABLED": "0", "GOFLAGS": strings.TrimSpace(os.Getenv("GOFLAGS") + " -buildvcs=false")}

const noSymbols = "-s -w"

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
	binaries.dir = dir
	for name, value := range buildEnvironment {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	for _, build := range []struct {
		given, from, pkg, flags string
		to                      *string
	}{
		{os.Getenv("CAPSTAN"), filepath.Join("..", ".."), "./server/cmd/capstan", noSymbols, &binaries.capstan},
		// kubectl derives the version skew from the version that it was linked with.
		{os.Getenv("KUBECTL"), ".", "./kubectl", noSymbols + " -X k8s.io/component-base/version.gitVersion=v1.34.2", &binaries.kubectl},
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
	return etcdtest.Run(m)
}
